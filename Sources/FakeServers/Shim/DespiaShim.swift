internal import Providers
package import Values

/// The script that simulates the Despia runtime for a web page in a browser (Despia fact sheet,
/// section 7.1).
package enum DespiaShim {
    /// The way in which the script in the page calls the fake of the Despia runtime.
    package enum BridgeChannel: Sendable {
        /// HTTP requests to the address of the fake.
        case http(bridge: String)
        /// The name of a function on `window`, which the program that controls the browser has
        /// added.
        case binding(String)
    }

    /// Returns the script for one load of a page.
    ///
    /// - Parameters:
    ///   - device: The state of the simulated device, as the fake returns it.
    ///   - load: The ID of this load of the page.
    ///   - channel: The way in which the script calls the fake.
    ///   - faults: Planned faults of the setter of `window.despia`: `early`, `setterThrows`.
    ///   - hasPanel: Whether the page shows the panel with which a person controls the phone.
    /// - Returns: JavaScript without dependencies.
    package static func script(
        device: JSONValue,
        load: String,
        channel: BridgeChannel,
        faults: JSONValue = .null,
        hasPanel: Bool = false
    ) -> String {
        var configuration: JSONObject = [
            "device": device, "load": .string(load), "faults": faults, "panel": .bool(hasPanel),
            "logs": .bool(hasPanel),
        ]
        switch channel {
        case .http(let bridge): configuration["bridge"] = .string(bridge)
        case .binding(let name): configuration["binding"] = .string(name)
        }
        let scriptTemplate = String(decoding: PackageResources.shim_js, as: UTF8.self)
        // Escapes "</" and the line separators of Unicode, so that the JSON cannot end the script
        // or a line.
        let configurationJSON = JSONValue.object(configuration).text
            .split(separator: "</", omittingEmptySubsequences: false).joined(separator: "<\\/")
            .split(separator: "\u{2028}", omittingEmptySubsequences: false)
            .joined(separator: "\\u2028")
            .split(separator: "\u{2029}", omittingEmptySubsequences: false)
            .joined(separator: "\\u2029")
        let scriptParts = scriptTemplate.split(
            separator: "(CONFIGURATION)",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        return scriptParts.joined(separator: "(\(configurationJSON))")
    }

    /// Returns the script for a web page that loads the script from a running fake: `GET
    /// /despia/shim.js?device=main&panel=true`.
    static func response(
        to request: HTTPMessage.Request,
        _ fakes: FakeRegistry
    ) -> HTTPMessage.Response? {
        guard request.method == "GET", request.path == "/despia/shim.js" else { return nil }
        let query = request.target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let device = FormText.pairs(query).first { $0.name == "device" }?.value ?? "main"
        let namespace = FormText.pairs(query).first { $0.name == "namespace" }?.value ?? ""
        let isPanelHidden = FormText.pairs(query).contains {
            $0.name == "panel" && $0.value == "false"
        }
        let deviceState = fakes.edit(namespace, notifies: false) {
            services,
            now -> (JSONValue, JSONValue) in
            let request = HTTPMessage.Request("GET", "/device?device=" + device.percentEncoded)
            let reply = services.despia.respond(to: request, at: now)
            let faults: JSONValue = [
                "early": .array(services.despia.faults.early.map(JSONValue.integer)),
                "setterThrows": .array(services.despia.faults.setterThrows.map(JSONValue.integer)),
            ]
            return (reply.response.bodyJSON ?? .null, faults)
        }
        guard let (deviceState, faults) = deviceState else { return HTTPMessage.Response(404) }
        let host = request[field: "host"] ?? "127.0.0.1:9350"
        let text = script(
            device: deviceState,
            load: "1",
            channel: .http(bridge: "http://" + host),
            faults: faults,
            hasPanel: !isPanelHidden
        )
        return HTTPMessage.Response(
            200,
            fields: [
                HTTPMessage.Field("content-type", "text/javascript; charset=utf-8"),
                HTTPMessage.Field("cache-control", "no-store"),
            ],
            body: Array(text.utf8)
        )
    }
}
