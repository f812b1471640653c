package import Providers
package import Values

/// The expected behavior of the app on a simulated phone.
package struct AppExpectation: Hashable, Codable, Sendable {
    /// A command that the web app must, or must not, send over the bridge to the native side.
    package struct Command: Hashable, Codable, Sendable {
        /// The command's scheme, or its scheme and path: `revenuecat://launchPaywall`.
        package var name: String
        /// The role of the vault key that the command names; nil: any key.
        package var role: VaultRole?
        package var value: String?
        package var countMin: Int
        package var countMax: Int?
        /// Whether only commands count that the app sends before its first command that writes the
        /// app user ID.
        package var countsOnlyBeforeIDWrite = false
        package var phone: String?
        package var location: SourceLocation

        package init(name: String, countMin: Int, countMax: Int?, location: SourceLocation) {
            self.name = name
            self.countMin = countMin
            self.countMax = countMax
            self.location = location
        }
    }

    /// The expected app user ID of a phone at the end of the run.
    package struct Identity: Hashable, Codable, Sendable {
        package enum IdentityCondition: Hashable, Codable, Sendable {
            case user(String)
            case notUser(String)
            /// The ID must be the same as the ID of the phone with this name; the next case,
            /// `differentFromPhone`, requires a different ID.
            case sameAsPhone(String)
            case differentFromPhone(String)
            /// The ID must differ from the first ID that the phone's app reported.
            case changed
        }

        package var phone: String
        package var expectedValue: IdentityCondition
        package var location: SourceLocation

        package init(phone: String, expectedValue: IdentityCondition, location: SourceLocation) {
            self.phone = phone
            self.expectedValue = expectedValue
            self.location = location
        }
    }

    /// The expected state of one page element at the end of the run; the profile defines the
    /// elements by name.
    package struct Screen: Hashable, Codable, Sendable {
        package enum Element: String, Hashable, Codable, Sendable, CaseIterable {
            case loading, access, error
            case status, product
        }

        package var element: Element
        /// The expected visibility of the element (true or false), or its expected text.
        package var expectedValue: JSONValue
        package var isNegated = false
        package var location: SourceLocation

        package init(element: Element, expectedValue: JSONValue, location: SourceLocation) {
            self.element = element
            self.expectedValue = expectedValue
            self.location = location
        }
    }

    /// An invariant that must hold over the app's whole timeline, by name.
    package struct RequiredInvariant: Hashable, Codable, Sendable {
        package var name: AppInvariant
        package var location: SourceLocation

        package init(name: AppInvariant, location: SourceLocation) {
            self.name = name
            self.location = location
        }
    }

    package var requiredInvariants: [RequiredInvariant] = []
    package var commands: [Command] = []
    package var identities: [Identity] = []
    package var screens: [Screen] = []
    /// Whether the first launch must lead to a registration that the backend acknowledges, within
    /// the profile's `startup` time.
    package var requiresTimelyRegistration = false
    /// The minimum number of registrations that the backend acknowledges; `registrationCountMax` is the
    /// maximum.
    package var registrationCountMin: Int?
    package var registrationCountMax: Int?
    package var location: SourceLocation

    package init(location: SourceLocation) {
        self.location = location
    }
}
