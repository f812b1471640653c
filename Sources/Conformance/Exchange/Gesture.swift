/// What a person did with an app, or what befell its page.
package struct Gesture: Hashable, Sendable {
    /// `upgrade`, `kill`, `wait`: an act by the contract's name for it, or one of the two below.
    package var name: String
    /// The selector of an element that was to be tapped and was not there.
    package var missing: String?
    /// What the page told of an error of its own.
    package var text: String?

    package init(_ name: String, missing: String? = nil, text: String? = nil) {
        self.name = name
        self.missing = missing
        self.text = text
    }

    /// The page told of an error of its own.
    package static func pageError(_ text: String) -> Gesture {
        Gesture(errorName, text: text)
    }

    /// The first script of a page could run.
    package static let pageStarted = Gesture("page-started")

    package var isPageError: Bool { name == Self.errorName }

    private static let errorName = "page-error"
}
