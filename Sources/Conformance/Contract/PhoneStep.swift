/// One thing that happens on a phone, or to what an app on it talks to.
///
/// Source: Despia fact sheet, section 7; identity rules, part A.
package enum PhoneStep: Hashable, Codable, Sendable {
    /// A person uses the app.
    case app(AppAction)
    /// The phone is found, or becomes, like this.
    case phone(PhoneChange)
    /// How the native side of the bridge behaves from now on.
    case bridge(BridgePlan)
    /// How the app's own backend answers from now on.
    case backend(AppBackendPlan)
    /// The store does something with what a user has bought.
    case store(StoreAct)

    /// The users whose ids it names.
    package var users: [String] {
        switch self {
        case .bridge: []
        case .app(let action):
            [action.anonymous, action.name.needsAccounts ? action.account : nil].compactMap { $0 }
        case .store(let act): [act.user]
        case .phone(let change):
            TemplateValues.users(in: change.vault.values.sorted())
                + (change.history ?? []).compactMap(\.user)
        case .backend(let plan):
            plan.answers.values.flatMap { $0 }.compactMap {
                if case .recovered(let user) = $0 { user } else { nil }
            }
        }
    }
}

/// What a person does with the app, in the words of the flows A1 to A9.
package struct AppAction: Hashable, Codable, Sendable {
    package enum Name: String, Hashable, Codable, Sendable, CaseIterable {
        /// Opens the app; a page that is open is closed first.
        case launch
        /// Opens it in two pages of the same phone at once.
        case launchTwice = "launch-twice"
        /// Loads the page anew, at once.
        case reload
        /// The system ends the app.
        case kill
        case upgrade
        /// Taps twice within a tenth of a second.
        case upgradeTwice = "upgrade-twice"
        /// Taps and completes the sheet that opens.
        case purchase
        case restore
        case login
        case logout
        /// Asks the app to show what it knows of the subscription.
        case status
        /// The runtime calls the purchase callback, whatever the store did.
        case callback
        /// Nothing is done; the app goes on by itself.
        case wait
        /// The acts of an app with accounts (clause catalogue, section A).
        case signUp = "sign-up-with-email"
        case signIn = "sign-in-with-email"
        case google = "sign-in-with-google"
        case forgotPassword = "forgot-password"
        case deleteAccount = "delete-account"
        /// The app asks for a new token, and its backend for what it knows.
        case refresh

        /// Whether only an app with accounts knows it.
        package var needsAccounts: Bool {
            [.signUp, .signIn, .google, .forgotPassword, .deleteAccount].contains(self)
        }
    }

    /// Which app a phone runs when it stands before a backend.
    package enum App: String, Hashable, Codable, Sendable, CaseIterable {
        /// Firebase signs people in, and RevenueCat's own SDK sells.
        case accounts
        /// A web app on the Despia runtime.
        case despia
    }

    package var name: Name
    package var phone = "phone"
    /// Who signs in.
    package var account: String?
    /// What the contract calls the anonymous customer that a launch or a logout makes.
    package var anonymous: String?
    /// Which app a launch starts.
    package var app = App.accounts
    /// Another password than the account's.
    package var hasWrongPassword = false
    package var product: String?
    /// The person agrees when the app asks whether to go on.
    package var agrees = false
    /// The next step does not wait until this one is over.
    package var isAtOnce = false
    /// What the callback carries; nil: no argument.
    package var argument: JSONValue?
    /// How long, for `wait`.
    package var time: Duration?
    /// The page dies as soon as this has happened.
    package var killedAt: KillPoint?

    package enum KillPoint: String, Hashable, Codable, Sendable, CaseIterable {
        /// A registration reached the backend.
        case registered
        /// The login was answered and the app does the first thing that follows from it, which is
        /// lost.
        case loggedIn = "logged-in"
        /// The first command that writes the app user id was dispatched.
        case idWritten = "id-written"
    }

    package init(_ name: Name) {
        self.name = name
    }
}

/// Something that the store does by itself, by the name of the fake's action.
package struct StoreAct: Hashable, Codable, Sendable {
    package static let names = [
        "renew", "cancel", "uncancel", "refund", "expire", "billing-issue",
    ]

    package var name: String
    package var user: String

    package init(name: String, user: String) {
        self.name = name
        self.user = user
    }
}

/// What a phone holds, or an act of its owner.
package struct PhoneChange: Hashable, Codable, Sendable {
    package enum Act: String, Hashable, Codable, Sendable, CaseIterable {
        /// The app is deleted and installed again: new install id, web storage gone, accounts kept.
        case reinstall
        /// Another phone with the same store and vault account, and the app on it.
        case secondPhone = "second-phone"
        /// Another phone that reports the same install id, and shares nothing else.
        case cloned
        /// The vault's entry that holds the app user id is lost, here and in the cloud.
        case loseID = "lose-id"
        /// The sheet that is open is bought, cancelled, or fails.
        case complete, cancel, fail
    }

    /// Whose user agent the page has (Despia fact sheet, section 2).
    package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        case iphone, ipad, android
        case ipadDesktop = "ipad-desktop"
        /// An ordinary browser: no runtime at all.
        case browser
        /// A platform that no page knows yet.
        case unknown
    }

    /// What the vault holds, by the role that the profile gives its key.
    package enum VaultRole: String, Hashable, Codable, Sendable, CaseIterable {
        case id, lock
    }

    package var phone = "phone"
    package var act: Act?
    package var kind: Kind?
    package var vault: [VaultRole: String] = [:]
    /// Purchases of the store account, as section 4 of the fact sheet describes them; nil: as is.
    package var history: [HistoryEntry]?
    /// The install id is not there when the page starts: it comes after this long, or never.
    package var installID: InstallID?

    package enum InstallID: Hashable, Codable, Sendable {
        case missing
        case late(Duration)
    }

    package init() {}
}

/// One purchase of the store account; what is not said is as in the fact sheet's examples.
package struct HistoryEntry: Hashable, Codable, Sendable {
    /// The user of the contract that bought it, or nobody.
    package var user: String?
    package var isAnonymous = false
    package var isActive = true
    package var environment = "production"
    package var product = "premium_monthly"
    /// Relative to the start of the run.
    package var purchased: Duration = .zero

    package init() {}
}

/// The switches and faults of the native side (Despia fact sheet, sections 4, 5 and 7.2).
package struct BridgePlan: Hashable, Codable, Sendable {
    /// Faults that hit commands by what they are, not by where they stand in the order.
    package struct Fault: Hashable, Codable, Sendable {
        package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
            case drop
            /// The reply comes after the page's 30 s.
            case late
            case duplicate
            case wrongType = "wrong-type"
            case wrongKey = "wrong-key"
        }

        package var kind: Kind
        package var scheme: String
        /// Only commands that name this key of the vault.
        package var role: PhoneChange.VaultRole?
        /// How many such commands it hits.
        package var times: Int

        package init(kind: Kind, scheme: String, role: PhoneChange.VaultRole?, times: Int) {
            self.kind = kind
            self.scheme = scheme
            self.role = role
            self.times = times
        }
    }

    /// Switches by the name that the fake gives them, for example `vaultMissing`.
    package var switches: [String: JSONValue] = [:]
    package var faults: [Fault] = []

    package init() {}
}

/// How the app's backend answers its next calls; afterwards as a correct one does.
package struct AppBackendPlan: Hashable, Codable, Sendable {
    package enum Answer: Hashable, Codable, Sendable {
        case ok
        case status(Int)
        /// The connection breaks.
        case reset
        /// It is read and never answered.
        case never
        /// It is answered after this long.
        case slow(Duration)
        /// 200, and the body names another id.
        case otherID
        /// A login that ends in `claimed`: the account takes the id that the phone has.
        case claimed
        /// A login that ends in `recovered`: the account has this user's id already.
        case recovered(user: String)
    }

    /// The app's routes, by the name that the profile gives its endpoints.
    package static let routes = ["register", "login", "access"]

    package var answers: [String: [Answer]] = [:]
    /// The last answer of a list stays in force.
    package var isPermanent = false
    /// Whether the store's purchases reach the backend at all.
    package var learnsPurchases = true

    package init() {}

    /// What is planned for the next call of a route; nil: nothing.
    package mutating func takeNext(_ route: String) -> Answer? {
        guard var answers = answers[route], let first = answers.first else { return nil }
        if answers.count > 1 || !isPermanent { answers.removeFirst() }
        self.answers[route] = answers
        return first
    }
}

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

/// Promises of a correct client that can be told from its timeline alone (identity rules, part B).
package enum ClientPromise: String, Hashable, Codable, Sendable, CaseIterable {
    /// No bridge command at all (C-01).
    case silent
    /// Every id that is written, aliased or registered can be used (C-03, C-10).
    case usableIDs = "usable-ids"
    /// The lock is written before the id is registered (C-07).
    case lockedFirst = "locked-first"
    /// The id is written to the vault before it is registered (C-08).
    case writtenFirst = "written-first"
    /// Every launch, login, logout and restore ends with the alias of the id that it ends with
    /// (C-10).
    case aliased
    /// Vault, alias and last acknowledged registration agree in the end (C-11).
    case oneIdentity = "one-identity"
    /// A failed registration is tried again, and counts only when the answer names the id (C-12).
    case registersHonestly = "registers-honestly"
    /// Acknowledged registrations are not repeated without a reason (C-13).
    case registersOnce = "registers-once"
    /// Every registration is complete (C-14).
    case wholeRegistrations = "whole-registrations"
    /// The device id is the install id, and nothing unset is ever written out (C-15).
    case steadyDevice = "steady-device"
    /// No paywall before the same id is registered (C-16).
    case registeredBeforePaywall = "registered-before-paywall"
    /// A paywall names the id that vault, alias and registration carry at that moment (C-17).
    case onePurchaser = "one-purchaser"
    /// No paywall while a login, logout or restore goes on (C-18).
    case gated
    /// One paywall at a time (C-19).
    case singlePaywall = "single-paywall"
    /// Every command says what was meant (C-21).
    case encoded
    /// All acknowledged registrations of one phone name one id (C-08, C-22, C-33).
    case sameID = "same-id"
    /// After its last gesture, nothing that arrives late changes the id (C-34).
    case steadyID = "steady-id"
    /// The last gesture changed nothing on the phone and told the backend nothing (C-26, C-27).
    case unchanged
    /// The registrations of a login name the id that was current, and login is told it (C-27).
    case loginNamesCurrent = "login-names-current"
    /// Ids that the app makes up cannot be guessed (C-30).
    case unguessable
    /// Reads of one key never overlap (C-34).
    case readsInTurn = "reads-in-turn"
    /// Nothing private lies in the open, and no key is a name of the window (C-35).
    case privateVault = "private-vault"
    /// The page reported no error of its own (C-24).
    case unbroken
}
