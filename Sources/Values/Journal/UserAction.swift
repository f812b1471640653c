/// A user action in an app, or an event of the app's page, as the journal records it.
package struct UserAction: Hashable, Sendable {
    /// The kind of a journal entry about an app: a user action, or an event of the app's page.
    package enum Kind: String, Hashable, Sendable {
        /// A user action; its name is the one in the contract, such as `upgrade`, `kill` or `wait`.
        case act
        /// The page reported an error.
        case pageError = "page-error"
        /// A document of the page was about to run its first script.
        case pageStarted = "page-started"
        /// All scripts of a document of the page have run.
        case pageLoaded = "page-loaded"
        /// The native side called a function of the page.
        case called
        /// The page sent a request that matches no route of the profile.
        case unmatchedRequest = "stray-call"
    }

    package var name: String
    /// The selector of an element to tap, or the name of a function to call, that the page does not
    /// have; otherwise nil.
    package var missingElement: String?
    /// A detail of a page event: the error message, the name of the called function, or the method
    /// and target of the request.
    package var text: String?

    package init(_ name: String, missingElement: String? = nil, text: String? = nil) {
        self.name = name
        self.missingElement = missingElement
        self.text = text
    }

    private init(_ kind: Kind, missingElement: String? = nil, text: String? = nil) {
        self.init(kind.rawValue, missingElement: missingElement, text: text)
    }

    package static func pageError(_ text: String) -> UserAction {
        UserAction(.pageError, text: text)
    }

    package static let pageStarted = UserAction(.pageStarted)

    package static let pageLoaded = UserAction(.pageLoaded)

    /// Makes the page event for a call from the native side to a function of the page.
    ///
    /// - Parameters:
    ///   - function: The function's name on the window.
    ///   - exists: Whether the page has the function.
    /// - Returns: The page event to record.
    package static func called(_ function: String, exists: Bool) -> UserAction {
        UserAction(.called, missingElement: exists ? nil : function, text: function)
    }

    /// Makes the page event for a request of the page that matches no route of the profile.
    ///
    /// - Parameter request: The request's method and target.
    /// - Returns: The page event to record.
    package static func unmatchedRequest(_ request: String) -> UserAction {
        UserAction(.unmatchedRequest, text: request)
    }

    package var kind: Kind { Kind(rawValue: name) ?? .act }
}
