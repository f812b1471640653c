package import Values

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
    /// The task of a page that sent the last command; nil if the page did not send its time.
    package var lastCommandTask: PageTask?

    /// A task of a page's event loop, which the page's time identifies.
    package struct PageTask: Hashable, Codable, Sendable {
        package let load: String
        @JSONSafeInteger package var milliseconds: Int64
    }

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

extension DespiaDevice {
    /// Creates a new phone with accounts of its own.
    init(name: String, _ ids: inout IDSource) {
        let defaultAccount = "account-" + name
        self.init(
            name: name,
            installUUID: ids.uuid().uppercased(),
            storeAccount: defaultAccount,
            vaultAccount: defaultAccount,
            playerID: ids.uuid(),
            revenueCatID: Self.anonymousID(&ids)
        )
    }

    /// Returns a new App User ID of an anonymous session.
    private static func anonymousID(_ ids: inout IDSource) -> String {
        "$RCAnonymousID:" + ids.hex(32)
    }

    /// Makes the session of RevenueCat's SDK anonymous, with a new ID.
    mutating func startAnonymousSession(_ ids: inout IDSource) {
        revenueCatID = Self.anonymousID(&ids)
    }

    /// Reinstalls the app, which erases the app's web storage and local vault.
    ///
    /// The store account and the vault account keep their data.
    mutating func reinstallApp(_ accounts: DespiaAccounts, _ ids: inout IDSource) {
        installUUID = ids.uuid().uppercased()
        playerID = ids.uuid()
        startAnonymousSession(&ids)
        externalID = nil
        paywall = nil
        storedValue = nil
        vaultLocal = syncsVault ? accounts.cloudItems(of: self) : [:]
    }

    /// Returns the outcome of the next biometric prompt.
    mutating func takeBiometricOutcome() -> BiometricOutcome {
        biometricQueue.isEmpty ? biometrics : biometricQueue.removeFirst()
    }

    /// Returns the value that the native side sends for a key of the vault.
    ///
    /// Returns nil when the native side sends nothing, and the page waits for its timeout of 30 s.
    mutating func readVault(_ key: String, _ settings: DespiaSettings) -> JSONValue? {
        func missingValueReply(_ kind: DespiaSettings.MissingValueReply) -> JSONValue? {
            switch kind {
            case .null: .null
            case .silent: nil
            case .empty: ""
            case .na: "n/a"
            }
        }
        guard let item = vaultLocal[key] else {
            return missingValueReply(settings.vaultMissing)
        }
        if item.isLocked, takeBiometricOutcome() != .success {
            return missingValueReply(settings.vaultLockedFailure)
        }
        return .string(item.value)
    }
}
