internal import Redaction

/// The features of a backend that a profile allows to test.
extension Profile {
    /// Returns the reason why this profile does not allow a test of a backend feature; nil when the
    /// feature can be tested.
    package func skipReason(to feature: Feature) -> String? {
        if unsupportedFeatures.contains(feature) {
            return "the profile declares '\(feature.rawValue)' unsupported"
        }
        func missing(_ endpoint: String) -> String? {
            endpoints[endpoint] == nil
                ? "the profile names no endpoint '\(endpoint)'" : nil
        }
        switch feature {
        case .authorization where secrets[.revenueCatAuthorization]?.isEmpty ?? true:
            return "the profile gives no secret 'revenuecat-authorization'"
        case .signature where secrets[.revenueCatSigning]?.isEmpty ?? true:
            return "the profile gives no secret 'revenuecat-signing'"
        case .purchaselySignature where secrets[.purchaselySigning]?.isEmpty ?? true:
            return "the profile gives no secret 'purchasely-signing'"
        case .purchaselyPush where unsupportedFeatures.contains(.push):
            return "the profile declares 'push' unsupported"
        case .purchasely, .purchaselySignature, .purchaselyPush:
            return missing("purchasely-webhook")
        case .firebase, .signedTokens, .revocation, .realAccounts: return missing("protected")
        case .stringIDs where idForm != .string:
            return "the profile's users have ids of the form '\(idForm.rawValue)'"
        case .reconcile: return missing("reconcile")
        case .fault where fault == nil:
            return "the profile does not define how to make the database fail "
                + "('fault: {break: …, heal: …}')"
        case .clock where clock == nil:
            return "the profile does not define how to set the backend's clock (key 'clock')"
        case .deletion: return missing("delete-account")
        case .accessRoute where !app.isAccessSetInFile:
            return
                "the profile does not define how the app asks for access ('app: {access: …}')"
        case .accountApp where idForm == .uuid || idForm == .integer:
            return "the profile's users have ids of the form '\(idForm.rawValue)'"
        case .accountApp where creation != .register:
            return "the profile's users are not created by the register endpoint"
        case .register: return missing("register")
        case .login:
            return missing("login")
                ?? (accountCreation == nil
                    ? "the profile does not define how to create an account ('accounts: …')" : nil)
        default: return nil
        }
    }
}
