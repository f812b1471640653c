/// What a person did with an app, or what befell its page.
package struct Gesture: Hashable, Sendable {
    /// What stands behind a name that no act of a person has.
    package enum Kind: String, Hashable, Sendable {
        /// `upgrade`, `kill`, `wait`: an act by the contract's name for it.
        case act
        /// The page told of an error of its own.
        case pageError = "page-error"
        /// The first script of a document could run.
        case pageStarted = "page-started"
        /// The scripts of a document have run, as far as they were part of it.
        case pageLoaded = "page-loaded"
        /// The native side called a function of the page.
        case called
        /// The page called something that is no route of the profile.
        case strayCall = "stray-call"
    }

    package var name: String
    /// The selector of an element that was to be tapped and was not there, or the function that was
    /// to be called and was not.
    package var missing: String?
    /// What the page told of an error of its own, what was called, or where the page called.
    package var text: String?

    package init(_ name: String, missing: String? = nil, text: String? = nil) {
        self.name = name
        self.missing = missing
        self.text = text
    }

    private init(_ kind: Kind, missing: String? = nil, text: String? = nil) {
        self.init(kind.rawValue, missing: missing, text: text)
    }

    package static func pageError(_ text: String) -> Gesture { Gesture(.pageError, text: text) }

    package static let pageStarted = Gesture(.pageStarted)

    package static let pageLoaded = Gesture(.pageLoaded)

    /// - Parameters:
    ///   - function: Its name on the window.
    ///   - exists: Whether the page has it.
    /// - Returns: What stands in the journal.
    package static func called(_ function: String, exists: Bool) -> Gesture {
        Gesture(.called, missing: exists ? nil : function, text: function)
    }

    /// - Parameter request: Method and target.
    /// - Returns: What stands in the journal.
    package static func strayCall(_ request: String) -> Gesture {
        Gesture(.strayCall, text: request)
    }

    package var kind: Kind { Kind(rawValue: name) ?? .act }
}
