internal import AsyncHTTPClient
internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP1

/// Who holds a Firebase ID token: RS256 by a published key, and every claim checked.
///
/// Facts: Firebase fact sheet, sections 6.1 and 7.1.
struct TokenVerifier: Sendable {
    enum Result: Sendable {
        case accepted(subject: String, isAnonymous: Bool)
        /// 401: this is not a token of this project's user.
        case refused
        /// 503: the keys cannot be had now, so nothing can be said.
        case unavailable
    }

    private struct Keys: Sendable {
        var keys: [String: _RSA.Signing.PublicKey] = [:]
        var validUntil: Date = .distantPast
        /// When an unknown key id last made us look again.
        var refetched: Date = .distantPast
    }

    let project: String
    /// Where the keys are published; nil accepts the emulator's unsigned tokens.
    let keysURL: String?
    let authURL: String?
    let client: HTTPClient
    let defects: Set<Defect>
    private let cache = NIOLockedValueBox(Keys())

    /// Clocks tick apart; a minute is what the official libraries allow at most.
    private static let skew: Double = 60
    /// Unknown key ids make us look no more often than this, so nobody can make us call out.
    private static let refetchInterval: TimeInterval = 60

    init(
        project: String,
        keysURL: String?,
        authURL: String?,
        client: HTTPClient,
        defects: Set<Defect>
    ) {
        self.project = project
        self.keysURL = keysURL
        self.authURL = authURL
        self.client = client
        self.defects = defects
    }

    func verify(_ token: String) async -> Result {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = Self.object(parts[0]),
            let claims = Self.object(parts[1]), let signature = Self.bytes(parts[2])
        else { return .refused }
        guard let identity = identity(claims) else { return .refused }
        let message = parts[0] + "." + parts[1]
        switch await isSigned(header, message, signature) {
        case .accepted: break
        case .refused: return .refused
        case .unavailable: return .unavailable
        }
        // Defect: token-revocation-ignored, token-keys-down-accepts
        if !defects.contains(.tokenKeysDownAccepts), !defects.contains(.tokenRevocationIgnored) {
            switch await isStanding(identity.subject, claims) {
            case true?: break
            case false?: return .refused
            case nil: return .unavailable
            }
        }
        return .accepted(subject: identity.subject, isAnonymous: identity.isAnonymous)
    }

    // MARK: Claims

    private func identity(_ claims: [String: Any]) -> (subject: String, isAnonymous: Bool)? {
        func time(_ name: String) -> Double? { (claims[name] as? NSNumber)?.doubleValue }
        let now = Date().timeIntervalSince1970
        // Defect: token-audience-ignored, token-issuer-ignored
        // Defect: token-claims-ignored
        let ignoresBoth = defects.contains(.tokenClaimsIgnored)
        guard
            claims["aud"] as? String == project || ignoresBoth
                || defects.contains(.tokenAudienceIgnored),
            claims["iss"] as? String == "https://securetoken.google.com/" + project || ignoresBoth
                || defects.contains(.tokenIssuerIgnored)
        else { return nil }
        // Defect: token-expiry-ignored, token-future-accepted
        guard let expiry = time("exp"), expiry > now || defects.contains(.tokenExpiryIgnored),
            let issued = time("iat"), let signedIn = time("auth_time"),
            max(issued, signedIn) <= now + Self.skew || defects.contains(.tokenFutureAccepted)
        else { return nil }
        // Defect: token-subject-unchecked, token-email-identity
        guard let subject = claims["sub"] as? String,
            (1...128).contains(subject.count) || defects.contains(.tokenSubjectUnchecked)
        else { return nil }
        let firebase = claims["firebase"] as? [String: Any]
        let isAnonymous = firebase?["sign_in_provider"] as? String == "anonymous"
        if defects.contains(.tokenEmailIdentity), let email = claims["email"] as? String {
            return (email, isAnonymous)
        }
        return (subject, isAnonymous)
    }

    // MARK: Signature

    private func isSigned(
        _ header: [String: Any],
        _ message: String,
        _ signature: Data
    ) async -> Result {
        let accepted = Result.accepted(subject: "", isAnonymous: false)
        let algorithm = header["alg"] as? String
        guard keysURL != nil else {
            return algorithm == "none" && signature.isEmpty ? accepted : .refused
        }
        // Defect: token-signature-ignored, token-none-accepted
        if defects.contains(.tokenSignatureIgnored) { return accepted }
        if defects.contains(.tokenNoneAccepted), algorithm == "none" { return accepted }
        // Defect: token-algorithm-believed
        if defects.contains(.tokenAlgorithmBelieved), algorithm == "HS256" { return accepted }
        guard algorithm == "RS256", let keyID = header["kid"] as? String else { return .refused }
        switch await key(keyID) {
        case .success(let key?):
            let isValid = key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature),
                for: Data(message.utf8),
                padding: .insecurePKCS1v1_5
            )
            return isValid ? accepted : .refused
        case .success(nil): return .refused
        // Defect: token-keys-down-accepts
        case .failure: return defects.contains(.tokenKeysDownAccepts) ? accepted : .unavailable
        }
    }

    private struct Unavailable: Error {}

    private func key(_ id: String) async -> Swift.Result<_RSA.Signing.PublicKey?, Unavailable> {
        let now = Date()
        let known = cache.withLockedValue { $0 }
        if now < known.validUntil, let key = known.keys[id] { return .success(key) }
        // Defect: token-refetch-always, token-never-refetched
        let mayRefetch =
            now >= known.validUntil
            || (now.timeIntervalSince(known.refetched) > Self.refetchInterval
                || defects.contains(.tokenRefetchAlways))
                && !defects.contains(.tokenNeverRefetched)
        guard mayRefetch else { return .success(nil) }
        if now < known.validUntil { cache.withLockedValue { $0.refetched = now } }
        guard let fresh = await fetch() else {
            // What is known stays usable until its time is over.
            if now < known.validUntil { return .success(nil) }
            return .failure(Unavailable())
        }
        cache.withLockedValue { cache in
            cache.keys = fresh.keys
            cache.validUntil = fresh.validUntil
        }
        return .success(fresh.keys[id])
    }

    private func fetch() async -> Keys? {
        guard let keysURL,
            let response = try? await client.execute(
                HTTPClientRequest(url: keysURL),
                timeout: .seconds(3)
            ), response.status == .ok, let body = try? await response.body.collect(upTo: 1 << 20),
            let root = Self.object(Data(body.readableBytesView)),
            let list = root["keys"] as? [[String: Any]]
        else { return nil }
        var keys = Keys()
        for entry in list {
            guard let id = entry["kid"] as? String, let modulus = entry["n"] as? String,
                let exponent = entry["e"] as? String, let n = Self.bytes(modulus),
                let e = Self.bytes(exponent)
            else { continue }
            keys.keys[id] = try? _RSA.Signing.PublicKey(n: n, e: e)
        }
        let control = response.headers.first(name: "cache-control") ?? ""
        let age = control.split(separator: ",").lazy.compactMap { part -> Double? in
            let words = part.split(separator: "=")
            return words.count == 2 && words[0].hasSuffix("max-age") ? Double(words[1]) : nil
        }.first
        keys.validUntil = Date(timeIntervalSinceNow: age ?? 0)
        return keys
    }

    // MARK: Revocation

    /// Whether the session still stands; nil when Firebase cannot be asked, true without an address.
    private func isStanding(_ subject: String, _ claims: [String: Any]) async -> Bool? {
        guard let authURL else { return true }
        var request = HTTPClientRequest(
            url: "\(authURL)/identitytoolkit.googleapis.com/v1/projects/\(project)/accounts:lookup"
        )
        request.method = .POST
        request.headers.add(name: "authorization", value: "Bearer owner")
        request.headers.add(name: "content-type", value: "application/json")
        let data = try? JSONSerialization.data(withJSONObject: ["localId": [subject]])
        request.body = .bytes(ByteBuffer(bytes: data ?? Data()))
        guard let response = try? await client.execute(request, timeout: .seconds(3)),
            response.status == .ok, let body = try? await response.body.collect(upTo: 1 << 20)
        else { return nil }
        let users = Self.object(Data(body.readableBytesView))?["users"] as? [[String: Any]]
        // A user whom nobody knows has no session; the route says so.
        guard let user = users?.first else { return true }
        if user["disabled"] as? Bool == true { return false }
        let since = (user["validSince"] as? String).flatMap(Double.init) ?? 0
        return ((claims["iat"] as? NSNumber)?.doubleValue ?? 0) >= since
    }

    // MARK: Parts

    private static func object(_ part: String) -> [String: Any]? { bytes(part).flatMap(object) }

    private static func object(_ data: Data) -> [String: Any]? {
        try? JSONSerialization.jsonObject(with: data) as? [String: Any]
    }

    private static func bytes(_ part: String) -> Data? {
        var text = part.replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        while text.count % 4 != 0 { text += "=" }
        return Data(base64Encoded: text)
    }
}
