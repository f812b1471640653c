internal import Redaction
internal import Values

/// The permissions of the callers of the fake OneSignal, which depend on their API keys.
struct OneSignalAccess {
    /// The API key that callers must send; nil to accept every caller.
    let key: Secret?
    let settings: OneSignalSettings
    let console: OneSignalConsole

    /// Whether the caller's API key has the permission for an operation.
    ///
    /// If the fake has no key, every caller has the permission. A caller with the key of another
    /// app never has the permission.
    func isAllowed(
        _ request: HTTPMessage.Request,
        _ requiredAccess: OneSignalOperation.RequiredAccess,
        app: String?
    ) -> Bool {
        let apiKey = request.authorization.flatMap { scheme, credential in
            ["key", "basic", "bearer"].contains(scheme) ? credential : nil
        }
        switch requiredAccess {
        case .unauthenticated: return true
        case .players where !settings.playersNeedKey: return true
        case .users where settings.usersNeedNoKey == true: return true
        case .organization: return key.map { apiKey == $0.exposed } ?? true
        case .app, .players, .users: break
        }
        if let ownerAppID = apiKey.flatMap({ console.ownerAppID(of: $0) }) {
            return ownerAppID == app
        }
        // An app that was created over the API accepts only its own keys.
        if let app, console.records[app]?.isMade == true { return false }
        return key.map { apiKey == $0.exposed } ?? true
    }
}
