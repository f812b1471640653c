package import Contracts
package import Values

/// The switches of the fake Despia runtime.
///
/// The defaults are those of the Despia fact sheet, sections 4 to 7.2.
package struct DespiaSettings: Hashable, Codable, Sendable {
    /// The reply of the native side to a request for a value that does not exist: null, no reply,
    /// an empty string, or `n/a`.
    package enum MissingValueReply: String, Hashable, Codable, Sendable {
        case null, silent, empty, na
    }
    package enum ProductField: String, Hashable, Codable, Sendable {
        case productId, productIdentifier, both
    }
    package enum EntitlementField: String, Hashable, Codable, Sendable {
        case entitlement, productId
    }
    package enum HistoryFormat: String, Hashable, Codable, Sendable {
        case array, null, silent, string
    }

    /// The delay of a reply in milliseconds.
    ///
    /// A reply never arrives in the JavaScript turn in which the page sets the command (Despia fact
    /// sheet, section 1.4).
    package var latencyMilliseconds: Int64 = 20
    /// The delay of a reply in milliseconds, by the URL scheme of the command.
    ///
    /// It replaces the general delay for that scheme.
    package var latencyByScheme: [String: Int64] = [:]
    /// The delay in milliseconds of a reply that a fault delays.
    ///
    /// It exceeds the timeout of 30 s after which the page's Despia package stops waiting.
    package var lateMilliseconds: Int64 = 31_000
    /// The time in milliseconds after the page's start at which the runtime sets the variable
    /// `uuid`.
    ///
    /// With 0, it is set before any script runs.
    package var uuidDelay: Int64 = 0
    /// The time in milliseconds after the page's start at which the runtime sets the variable
    /// `onesignalplayerid`.
    package var playerIDDelay: Int64 = 0
    /// Whether the runtime sets the variables `native_runtime` and `native_os`.
    ///
    /// Older runtimes do not set them (Despia fact sheet, section 1.5).
    package var hasRuntimeFlags = true
    package var vaultMissing = MissingValueReply.null
    package var vaultLockedFailure = MissingValueReply.null
    package var vaultDecode = BridgeCommand.Decoding.once
    package var historyProductField = ProductField.productId
    package var historyEntitlementField = EntitlementField.entitlement
    package var history = HistoryFormat.array
    /// Whether the runtime reports the result of a purchase with `onRevenueCatResult`.
    ///
    /// Older runtimes know only `onRevenueCatPurchase` (Despia fact sheet, section 6.1).
    package var hasResultChannel = true

    package init() {}
}

/// Faults of the bridge between page and native side.
///
/// Most of them apply to certain commands of a device, which are counted from 1 (Despia fact sheet,
/// section 7.2).
package struct DespiaFaults: Hashable, Codable, Sendable {
    package enum FaultyReply: String, Hashable, Codable, Sendable {
        case null, empty, na, wrongType = "wrong-type", wrongKey = "wrong-key"
    }

    /// The numbers of the commands that are lost: they have no effect and get no reply.
    package var drop: [Int64] = []
    /// Wrong values that replace the real values in replies, by the URL scheme of the command.
    package var reply: [String: FaultyReply] = [:]
    /// The numbers of the commands whose reply is sent twice.
    package var duplicate: [Int64] = []
    /// The numbers of the commands whose reply arrives after the page's timeout of 30 s.
    package var late: [Int64] = []
    /// The numbers of the commands whose reply arrives before the page's setter returns (a trap
    /// described in section 1.4 of the Despia fact sheet).
    package var early: [Int64] = []
    /// The numbers of the commands for which the page's setter throws an error.
    package var setterThrows: [Int64] = []
    /// The number of the command after which the runtime kills the page.
    package var killPageAfter: Int64?
    /// The minimum time between two commands of a page, in milliseconds.
    ///
    /// A command that follows sooner is lost (Despia fact sheet, section 1.2).
    package var coalescingMilliseconds: Int64?
    package var uuidMissing = false
    /// Faults that apply to commands by their URL scheme and vault key instead of their number.
    package var matching: [MatchingFault] = []

    /// A bridge fault for the next commands with a certain URL scheme, regardless of their number.
    package struct MatchingFault: Hashable, Codable, Sendable {
        package var kind: BridgePlan.Fault.Kind
        package var scheme: String
        /// The vault key of the commands to which the fault applies.
        ///
        /// If nil, the fault applies to any key.
        package var key: String?
        package var times: Int

        package init(kind: BridgePlan.Fault.Kind, scheme: String, key: String?, times: Int) {
            self.kind = kind
            self.scheme = scheme
            self.key = key
            self.times = times
        }
    }

    package init() {}
}

/// A simulated phone.
///
/// It has its own data, and shares the data of its accounts with other phones (Despia fact sheet,
/// section 7.2).
package struct DespiaDevice: Hashable, Codable, Sendable {
    package struct VaultItem: Hashable, Codable, Sendable {
        package var value: String
        package var isLocked: Bool
    }

    package struct Paywall: Hashable, Codable, Sendable {
        package var externalID: String?
        package var offering: String?
        package var product: String?
        package var presented: Instant
        /// The kind of the open sheet: `paywall` for a paywall, `purchase` for a direct purchase.
        package var source: String

        /// The way in which a paywall sheet ends.
        package enum PurchaseOutcome: String, Hashable, Sendable {
            case complete, cancel, fail
        }
    }

    /// An action on a simulated phone.
    ///
    /// The raw value is the action's name in the path of the control API.
    package enum Action: String, Hashable, Sendable, CaseIterable {
        case reset
        case newInstall = "new-install"
        case reinstall
        case secondDevice = "second-device"
        case vault
        case cloudPush = "cloud/push"
        case cloudPull = "cloud/pull"
        case cloudHold = "cloud/hold"
        case cloudRelease = "cloud/release"
        case biometrics
        case restore = "center/restore"
        case completePaywall = "paywall/complete"
        case cancelPaywall = "paywall/cancel"
        case failPaywall = "paywall/fail"

        /// A one-line description of the action for users.
        package var summary: String {
            switch self {
            case .reset: "deletes the data of the device and its accounts"
            case .newInstall, .reinstall: "reinstalls the app; the accounts keep their data"
            case .secondDevice: "adds a device with the name `name` and the same accounts"
            case .vault: "adds items to the device's vault, or removes them"
            case .cloudPush: "copies the device's vault to the cloud"
            case .cloudPull: "copies the vault items in the cloud to the device"
            case .cloudHold: "stops the sync of the vault with the cloud"
            case .cloudRelease: "resumes the sync of the vault with the cloud"
            case .biometrics: "sets the outcome of the next biometric prompt (`outcome`)"
            case .restore: "restores the store account's purchases in the Customer Center"
            case .completePaywall: "completes the open paywall with a purchase"
            case .cancelPaywall: "closes the open paywall without a purchase"
            case .failPaywall: "makes the purchase in the open paywall fail"
            }
        }

        package static let pathValues = allCases.map { ControlPathValue($0.rawValue, $0.summary) }
    }

    package enum BiometricOutcome: String, Hashable, Codable, Sendable, CaseIterable {
        case success, failure, unavailable
    }
    package enum PushPermission: String, Hashable, Codable, Sendable, CaseIterable {
        case granted, denied, undetermined
    }

    package let name: String
    package var platform = "ios"
    /// The preset of the user agent: `iphone`, `ipad`, `ipad-no-token`, `ipad-desktop`, `android`,
    /// `unknown` or `browser`.
    ///
    /// A `browser` has no native side.
    package var uaPreset = "iphone"
    package var installUUID: String?
    package var storeAccount: String
    package var vaultAccount: String
    package var pushPermission = PushPermission.undetermined
    package var playerID: String
    package var externalID: String?
    /// The App User ID that RevenueCat's SDK uses on this device.
    package var revenueCatID = ""
    package var biometrics = BiometricOutcome.success
    /// The outcomes of the next biometric prompts.
    ///
    /// When the list is empty, a prompt has the outcome `biometrics`.
    package var biometricQueue: [BiometricOutcome] = []
    package var vaultLocal: [String: VaultItem] = [:]
    package var syncsVault = true
    package var storedValue: String?
    package var paywall: Paywall?
    @JSONSafeInteger package var commandCount: Int64 = 0
    package var lastCommandAt: Int64?

    /// A synthetic user agent: a standard one, a space, and the part that the Despia runtime
    /// appends (Despia fact sheet, section 2).
    package var userAgent: String {
        let iPhoneUserAgent =
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, "
            + "like Gecko) Mobile/15E148"
        let iPadUserAgent =
            "Mozilla/5.0 (iPad; CPU OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
            + "Gecko) Mobile/15E148"
        switch uaPreset {
        case "android":
            return "Mozilla/5.0 (Linux; Android 15; Pixel 9 Build/AP4A; wv) AppleWebKit/537.36 "
                + "(KHTML, like Gecko) Version/4.0 Chrome/130.0.0.0 Mobile Safari/537.36 "
                + "despia-android"
        case "browser":
            return "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
                + "Chrome/130.0.0.0 Safari/537.36"
        case "unknown":
            return "Mozilla/5.0 (VisionPlatform 1.0) AppleWebKit/605.1.15 (KHTML, like Gecko) "
                + "despia"
        case "ipad": return iPadUserAgent + " despia-ipad"
        case "ipad-no-token": return iPadUserAgent
        case "ipad-desktop":
            return "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, "
                + "like Gecko) despia"
        default: return iPhoneUserAgent + " despia-iphone"
        }
    }
}

/// An entry in the log of a simulated phone: a command, a reply, a callback, or an HTTP call of the
/// page (Despia fact sheet, section 7.3).
package struct DespiaLogEntry: Hashable, Codable, Sendable {
    package enum Kind: String, Hashable, Codable, Sendable { case bridge, reply, callback, http }

    package let sequence: Int64
    package let device: String
    package let kind: Kind
    package let at: Instant
    /// The time on the page's own clock, in milliseconds, when the page's setter ran.
    ///
    /// Nil when the page did not report this time.
    package let page: Int64?
    /// The ID of the page load to which this log entry belongs.
    package let load: String?
    package let text: String
    package let command: BridgeCommand?
    package let value: JSONValue?
}

extension DespiaLogEntry {
    /// The memory that the strings and values of this log entry take, in bytes.
    var storedByteCount: Int {
        96 + device.utf8.count + text.utf8.count + (load?.utf8.count ?? 0)
            + (value?.storedByteCount ?? 0)
    }
}
