/// What must be true of the app after a device scenario.
package struct AppExpectation: Hashable, Codable, Sendable {
    /// Commands that must, or must not, have crossed the bridge.
    package struct Command: Hashable, Codable, Sendable {
        /// Scheme, or scheme and path: `revenuecat://launchPaywall`.
        package var name: String
        /// The key of the vault that it names.
        package var role: PhoneChange.VaultRole?
        package var value: String?
        package var countMin: Int
        package var countMax: Int?
        /// Only what was sent before the first command that writes the app user id counts.
        package var isBeforeIDWritten = false
        package var phone: String?
        package var location: SourceLocation

        package init(name: String, countMin: Int, countMax: Int?, location: SourceLocation) {
            self.name = name
            self.countMin = countMin
            self.countMax = countMax
            self.location = location
        }
    }

    /// Whose id a phone ends with.
    package struct Identity: Hashable, Codable, Sendable {
        package enum Wanted: Hashable, Codable, Sendable {
            case user(String)
            case notUser(String)
            /// The same as, or another than, that phone's.
            case sameAs(String)
            case otherThan(String)
            /// Another than the first that the phone's app ever told.
            case changed
        }

        package var phone: String
        package var wanted: Wanted
        package var location: SourceLocation

        package init(phone: String, wanted: Wanted, location: SourceLocation) {
            self.phone = phone
            self.wanted = wanted
            self.location = location
        }
    }

    /// What the page shows in the end, by the name that the profile gives its element.
    package struct Screen: Hashable, Codable, Sendable {
        package enum Element: String, Hashable, Codable, Sendable, CaseIterable {
            case loading, access, error
            case status, product
        }

        package var element: Element
        /// Whether it is visible, or the text that it shows.
        package var wanted: JSONValue
        package var isNot = false
        package var location: SourceLocation

        package init(element: Element, wanted: JSONValue, location: SourceLocation) {
            self.element = element
            self.wanted = wanted
            self.location = location
        }
    }

    /// A promise about the whole timeline, by name.
    package struct Promise: Hashable, Codable, Sendable {
        package var name: ClientPromise
        package var location: SourceLocation

        package init(name: ClientPromise, location: SourceLocation) {
            self.name = name
            self.location = location
        }
    }

    package var promises: [Promise] = []
    package var commands: [Command] = []
    package var identities: [Identity] = []
    package var screens: [Screen] = []
    /// The first launch reaches an acknowledged registration within the profile's startup budget.
    package var isBounded = false
    /// How many registrations may have been acknowledged.
    package var registeredMin: Int?
    package var registeredMax: Int?
    package var location: SourceLocation

    package init(location: SourceLocation) {
        self.location = location
    }
}
