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
}

extension DespiaState: ScriptServer {
    /// Recognizes `GET /despia/shim.js?device=main&panel=true`, with which a web page loads the
    /// script from a running fake.
    package static func scriptNamespace(of request: HTTPMessage.Request) -> String? {
        guard request.method == "GET", request.path == "/despia/shim.js" else { return nil }
        return queryPairs(request).first { $0.name == "namespace" }?.value ?? ""
    }

    package static func scriptResponse(
        to request: HTTPMessage.Request,
        _ services: inout Services,
        at now: Instant
    ) -> HTTPMessage.Response {
        let query = queryPairs(request)
        let device = query.first { $0.name == "device" }?.value ?? "main"
        let isPanelHidden = query.contains { $0.name == "panel" && $0.value == "false" }
        let deviceRequest = HTTPMessage.Request("GET", "/device?device=" + device.percentEncoded)
        let deviceReply = services.despia.respond(to: deviceRequest, at: now)
        let faults: JSONValue = [
            "early": .array(services.despia.faults.early.map(JSONValue.integer)),
            "setterThrows": .array(services.despia.faults.setterThrows.map(JSONValue.integer)),
        ]
        let host = request[field: "host"] ?? "127.0.0.1:\(defaultPort)"
        let text = DespiaShim.script(
            device: deviceReply.response.bodyJSON ?? .null,
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

    private static func queryPairs(
        _ request: HTTPMessage.Request
    ) -> [(name: String, value: String)] {
        FormText.pairs(request.target.split(separator: "?", maxSplits: 1).dropFirst().first ?? "")
    }
}
