package import Conformance
internal import Providers

/// The script that makes a page believe that it runs on the phone (Despia fact sheet, section 7.1).
package enum DespiaShim {
    /// How the script reaches the fake.
    package enum Channel: Sendable {
        /// Over HTTP, to the fake's own address.
        case http(bridge: String)
        /// Through a function that a driver of the browser has put on the window.
        case binding(String)
    }

    /// The script for one load of a page.
    ///
    /// - Parameters:
    ///   - device: The device as the fake shows it.
    ///   - load: Which load of the page it is.
    ///   - channel: How commands reach the fake.
    ///   - faults: Faults that the setter itself has to commit: `early`, `setterThrows`.
    ///   - hasPanel: Whether a person can move the phone on the page.
    /// - Returns: JavaScript that needs nothing else.
    package static func script(
        device: JSONValue,
        load: String,
        channel: Channel,
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
        let source = String(decoding: PackageResources.shim_js, as: UTF8.self)
        // In a script, JSON ends at no tag and at no line of another alphabet.
        let json = JSONValue.object(configuration).text
            .split(separator: "</", omittingEmptySubsequences: false).joined(separator: "<\\/")
            .split(separator: "\u{2028}", omittingEmptySubsequences: false)
            .joined(separator: "\\u2028")
            .split(separator: "\u{2029}", omittingEmptySubsequences: false)
            .joined(separator: "\\u2029")
        let parts = source.split(
            separator: "(CONFIGURATION)",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        return parts.joined(separator: "(\(json))")
    }

    /// The script as a page of a running fake loads it: `GET /despia/shim.js?device=main&panel=true`.
    static func response(
        to request: HTTPMessage.Request,
        _ world: FakeWorld
    ) -> HTTPMessage.Response? {
        guard request.method == "GET", request.path == "/despia/shim.js" else { return nil }
        let query = request.target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let device = FormText.pairs(query).first { $0.name == "device" }?.value ?? "main"
        let namespace = FormText.pairs(query).first { $0.name == "namespace" }?.value ?? ""
        let bare = FormText.pairs(query).contains { $0.name == "panel" && $0.value == "false" }
        let shown = world.edit(namespace, notifies: false) {
            services,
            now -> (JSONValue, JSONValue) in
            let request = HTTPMessage.Request("GET", "/device?device=" + device.percentEncoded)
            let reply = services.despia.respond(to: request, at: now)
            let faults: JSONValue = [
                "early": .array(services.despia.faults.early.map(JSONValue.integer)),
                "setterThrows": .array(services.despia.faults.setterThrows.map(JSONValue.integer)),
            ]
            return ((try? JSONValue(parsing: reply.response.body)) ?? .null, faults)
        }
        guard let (shown, faults) = shown else { return HTTPMessage.Response(404) }
        let host = request[field: "host"] ?? "127.0.0.1:9350"
        let text = script(
            device: shown,
            load: "1",
            channel: .http(bridge: "http://" + host),
            faults: faults,
            hasPanel: !bare
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
