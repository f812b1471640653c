package import Conformance

/// The switches about web pages that call the fakes.
package struct PageSettings: Hashable, Codable, Sendable {
    /// Whether pages of other origins may administer the fakes, such as delete all accounts.
    package var allowForeignOrigins = false

    package init() {}
}

extension Services {
    /// Refuses administration of a fake to a web page of another origin, so that no page that happens
    /// to be open in a browser of this machine changes the fakes.
    ///
    /// - Parameters:
    ///   - party: The fake that is called.
    ///   - request: The call as it came from the network.
    /// - Returns: The refusal; nil when the call is allowed.
    package func refusalOfForeignPage(
        _ party: Exchange.Party,
        _ request: HTTPMessage.Request
    ) -> Reply? {
        guard pages?.allowForeignOrigins != true, request.method != "OPTIONS",
            request.isFromForeignPage,
            table[party]?.isClosedToForeignPages(self, request) == true
        else { return nil }
        let page = request[field: "origin"] ?? "another origin"
        return Reply(
            HTTPMessage.Response(
                403,
                json: [
                    "error": .string("a page of \(page) may not administer the fake \(party)"),
                    "hint": "call it from a program, or set the switch pages.allowForeignOrigins",
                ]
            ),
            .inferred,
            of: party.description
        )
    }
}
