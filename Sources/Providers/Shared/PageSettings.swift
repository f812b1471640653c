package import Values

/// The switches for web pages that send requests to the fakes.
package struct PageSettings: Hashable, Codable, Sendable {
    /// Whether web pages of other origins may administer the fakes, for example delete all
    /// accounts.
    package var allowForeignOrigins = false

    package init() {}
}

extension Services {
    /// Refuses a request with which a web page of another origin tries to administer a fake.
    ///
    /// A page that happens to be open in a browser on this machine therefore cannot change the
    /// fakes.
    ///
    /// - Parameters:
    ///   - party: The provider whose fake is called.
    ///   - request: The request as it came from the network.
    /// - Returns: The response that refuses the request; nil when the request is allowed.
    package func refusalOfForeignPage(
        _ party: Exchange.Party,
        _ request: HTTPMessage.Request
    ) -> Reply? {
        guard pages?.allowForeignOrigins != true, request.method != "OPTIONS",
            request.isFromForeignPage,
            providerTable[party]?.isClosedToForeignPages(self, request) == true
        else { return nil }
        let page = request[field: "origin"] ?? "another origin"
        return Reply(
            HTTPMessage.Response(
                403,
                json: [
                    "error": .string("a web page of \(page) may not administer the fake \(party)"),
                    "hint": "call it from a program, or set pages.allowForeignOrigins to true",
                ]
            ),
            .inferred,
            of: party.description
        )
    }
}
