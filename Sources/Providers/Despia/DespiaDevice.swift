package import Conformance

/// The switches of the fake Despia runtime (fact sheet, sections 4 to 7.2); the defaults are the
/// sheet's.
package struct DespiaSettings: Hashable, Codable, Sendable {
    /// What the native side writes when there is nothing to write.
    package enum Nothing: String, Hashable, Codable, Sendable { case null, silent, empty, na }
    package enum ProductField: String, Hashable, Codable, Sendable {
        case productId, productIdentifier, both
    }
    package enum EntitlementField: String, Hashable, Codable, Sendable {
        case entitlement, productId
    }
    package enum History: String, Hashable, Codable, Sendable {
        case array, null, silent, string
    }

    /// Milliseconds until a reply; never in the turn of the setter (section 1.4).
    package var latencyMilliseconds: Int64 = 20
    /// Milliseconds until a reply to commands of one scheme.
    package var latencyByScheme: [String: Int64] = [:]
    /// Milliseconds until a reply that comes too late: after the package's own 30 s.
    package var lateMilliseconds: Int64 = 31_000
    /// Milliseconds after the page's start at which `uuid` is there; 0: before any script.
    package var uuidDelay: Int64 = 0
    /// Milliseconds after the page's start at which `onesignalplayerid` is there.
    package var playerIDDelay: Int64 = 0
    /// `native_runtime` and `native_os` are there; older runtimes lack them (section 1.5).
    package var hasRuntimeFlags = true
    package var vaultMissing = Nothing.null
    package var vaultLockedFailure = Nothing.null
    package var vaultDecode = BridgeCommand.Decoding.once
    package var historyProductField = ProductField.productId
    package var historyEntitlementField = EntitlementField.entitlement
    package var history = History.array
    /// Older runtimes lack the result channel and know `onRevenueCatPurchase` only (section 6.1).
    package var hasResultChannel = true

    package init() {}
}

/// Faults of the bridge, each at a stated command, counted from 1 (section 7.2).
package struct DespiaFaults: Hashable, Codable, Sendable {
    package enum Reply: String, Hashable, Codable, Sendable {
        case null, empty, na, wrongType = "wrong-type", wrongKey = "wrong-key"
    }

    /// Numbers of commands that are lost.
    package var drop: [Int64] = []
    /// Replies of this command are replaced.
    package var reply: [String: Reply] = [:]
    /// Numbers of commands whose reply comes twice.
    package var duplicate: [Int64] = []
    /// Numbers of commands whose reply comes after the page's 30 s.
    package var late: [Int64] = []
    /// Numbers of commands that are answered before the setter returns (the trap of section 1.4).
    package var early: [Int64] = []
    /// Numbers of commands whose setter throws.
    package var setterThrows: [Int64] = []
    /// The page is killed after this command.
    package var killPageAfter: Int64?
    /// A command this soon after the one before is swallowed, in milliseconds (section 1.2).
    package var coalescingMilliseconds: Int64?
    package var uuidMissing = false
    /// Faults that hit commands by what they are.
    package var matching: [Matching] = []

    /// A fault for the next commands of a kind, wherever they stand in the order.
    package struct Matching: Hashable, Codable, Sendable {
        package var kind: BridgePlan.Fault.Kind
        package var scheme: String
        /// The vault's key that the command names; nil: any.
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

/// One phone: what it holds by itself and what it shares with its accounts (section 7.2).
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
        /// `paywall` for a sheet, `purchase` for a direct purchase.
        package var source: String

        /// How a sheet ends.
        package enum Ending: String, Hashable, Sendable {
            case complete, cancel, fail
        }
    }

    /// What happens to a device, as the path of the control API names it.
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

        /// One line for a person who asks what it does.
        package var summary: String {
            switch self {
            case .reset: "forgets the device and its accounts"
            case .newInstall, .reinstall: "the app is installed anew; the accounts stay"
            case .secondDevice: "another device of the same person, `name` names it"
            case .vault: "puts items into the vault, or takes them away"
            case .cloudPush: "the vault reaches the cloud"
            case .cloudPull: "the cloud reaches the vault"
            case .cloudHold: "the vault no longer follows the cloud"
            case .cloudRelease: "the vault follows the cloud again"
            case .biometrics: "how the next prompt ends, `outcome` says it"
            case .restore: "the Customer Center shows the store account's receipt"
            case .completePaywall: "the open sheet ends with a purchase"
            case .cancelPaywall: "the open sheet is closed"
            case .failPaywall: "the open sheet's purchase fails"
            }
        }

        package static let words = allCases.map { ControlWord($0.rawValue, $0.summary) }
    }

    package enum Biometrics: String, Hashable, Codable, Sendable, CaseIterable {
        case success, failure, unavailable
    }
    package enum Permission: String, Hashable, Codable, Sendable, CaseIterable {
        case granted, denied, undetermined
    }

    package let name: String
    package var platform = "ios"
    /// `iphone`, `ipad`, `ipad-no-token`, `ipad-desktop`, `android`, `unknown`, or `browser`, which
    /// has no native side at all.
    package var uaPreset = "iphone"
    package var installUUID: String?
    package var storeAccount: String
    package var vaultAccount: String
    package var pushPermission = Permission.undetermined
    package var playerID: String
    package var externalID: String?
    /// The App User ID that RevenueCat's SDK uses on this device.
    package var revenueCatID = ""
    package var biometrics = Biometrics.success
    /// Outcomes of the next prompts, before `biometrics` counts again.
    package var biometricQueue: [Biometrics] = []
    package var vaultLocal: [String: VaultItem] = [:]
    package var syncsVault = true
    package var storedValue: String?
    package var paywall: Paywall?
    @StoredCount package var commandCount: Int64 = 0
    package var lastCommandAt: Int64?

    /// Synthetic: a stock user agent, a blank and the fragment the runtime appends (section 2).
    package var userAgent: String {
        let phone =
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, "
            + "like Gecko) Mobile/15E148"
        let pad =
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
        case "ipad": return pad + " despia-ipad"
        case "ipad-no-token": return pad
        case "ipad-desktop":
            return "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, "
                + "like Gecko) despia"
        default: return phone + " despia-iphone"
        }
    }
}

/// One line of the device's record: a command, a reply or a callback (section 7.3).
package struct DespiaRecord: Hashable, Codable, Sendable {
    package enum Kind: String, Hashable, Codable, Sendable { case bridge, reply, callback, http }

    package let sequence: Int64
    package let device: String
    package let kind: Kind
    package let at: Instant
    /// Milliseconds on the page's own clock when its setter ran; none: not told.
    package let page: Int64?
    /// Which load of the page it was.
    package let load: String?
    package let text: String
    package let command: BridgeCommand?
    package let value: JSONValue?
}

extension DespiaRecord {
    /// How much memory its texts and values take, in bytes.
    var storedByteCount: Int {
        96 + device.utf8.count + text.utf8.count + (load?.utf8.count ?? 0)
            + (value?.storedByteCount ?? 0)
    }
}
