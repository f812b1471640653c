internal import AsyncHTTPClient
internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP1

/// Verifies Firebase ID tokens: the RS256 signature with one of Firebase's published keys, and
/// every claim.
///
/// Source: Firebase fact sheet, sections 6.1 and 7.1.
struct TokenVerifier: Sendable {
    enum Result: Sendable {
        case accepted(subject: String, isAnonymous: Bool)
        /// The token is not a valid token of this Firebase project; the response is 401.
        case refused
        /// The token cannot be verified, because Firebase's keys are unavailable; the response is
        /// 503.
        case unavailable
    }

    struct Policy: Sendable {
        var hasExpectedAudience = TokenVerifier.hasExpectedAudience
        var hasExpectedIssuer = TokenVerifier.hasExpectedIssuer
        var hasExpired = TokenVerifier.hasExpired
        var isIssuedInFuture = TokenVerifier.isIssuedInFuture
        var subject = TokenVerifier.subject
        var isSigned = TokenVerifier.isSigned
        var mayRefetchKeys = TokenVerifier.mayRefetchKeys
        var replaceKeys = TokenVerifier.replaceKeys
        var isSessionValid = TokenVerifier.isSessionValid
    }

    /// A parsed Firebase token that has not been verified.
    struct Token: Sendable {
        let algorithm: String?
        let keyID: String?
        let claims: Claims
        /// The part of the token that the signature covers.
        let message: String
        let signature: Data

        init?(_ text: String) {
            let tokenParts = text.split(separator: ".", omittingEmptySubsequences: false)
                .map(String.init)
            guard tokenParts.count == 3, let header = TokenVerifier.decodedObject(tokenParts[0]),
                let claims = TokenVerifier.decodedObject(tokenParts[1]),
                let signature = TokenVerifier.bytes(tokenParts[2])
            else { return nil }
            algorithm = header["alg"] as? String
            keyID = header["kid"] as? String
            self.claims = Claims(claims)
            message = tokenParts[0] + "." + tokenParts[1]
            self.signature = signature
        }
    }

    /// The claims of a Firebase token.
    ///
    /// Times are in seconds since 1970.
    struct Claims: Sendable {
        let audience: String?
        let issuer: String?
        let subject: String?
        let email: String?
        let expiry: Double?
        let issuedAt: Double?
        let signedInAt: Double?
        let isAnonymous: Bool
        /// Google's ID of a user who signed in with Google; it is not the user ID of this backend.
        let googleID: String?

        init(_ claims: [String: Any]) {
            func timeClaim(_ name: String) -> Double? { (claims[name] as? NSNumber)?.doubleValue }
            audience = claims["aud"] as? String
            issuer = claims["iss"] as? String
            subject = claims["sub"] as? String
            email = claims["email"] as? String
            expiry = timeClaim("exp")
            issuedAt = timeClaim("iat")
            signedInAt = timeClaim("auth_time")
            let firebase = claims["firebase"] as? [String: Any]
            isAnonymous = firebase?["sign_in_provider"] as? String == "anonymous"
            let identities = firebase?["identities"] as? [String: Any]
            googleID = (identities?["google.com"] as? [String])?.first
        }
    }

    /// Firebase's published keys, with the time until which they are valid.
    struct PublishedKeys: Sendable {
        var keys: [String: _RSA.Signing.PublicKey] = [:]
        var validUntil: Date = .distantPast
        /// The time of the last fetch that an unknown key ID caused.
        var lastRefetch: Date = .distantPast
    }

    let project: String
    /// The URL of Firebase's published keys; nil to accept the unsigned tokens of Firebase's
    /// emulator.
    let keysURL: String?
    let authURL: String?
    let client: HTTPClient
    let policy: Policy
    private let cachedKeys = NIOLockedValueBox(PublishedKeys())

    /// The tolerated clock difference to Firebase, in seconds.
    ///
    /// The official libraries allow at most one minute.
    private static let clockSkewMaxInSeconds: Double = 60
    /// The minimum interval between key fetches because of unknown key IDs, in seconds, so that
    /// callers cannot trigger many requests.
    private static let refetchInterval: TimeInterval = 60

    init(
        project: String,
        keysURL: String?,
        authURL: String?,
        client: HTTPClient,
        policy: Policy
    ) {
        self.project = project
        self.keysURL = keysURL
        self.authURL = authURL
        self.client = client
        self.policy = policy
    }

    func verify(_ text: String) async -> Result {
        guard let token = Token(text), let subject = subject(of: token.claims) else {
            return .refused
        }
        switch await policy.isSigned(self, token) {
        case true?: break
        case false?: return .refused
        case nil: return .unavailable
        }
        switch await policy.isSessionValid(self, subject, token.claims) {
        case true?: return .accepted(subject: subject, isAnonymous: token.claims.isAnonymous)
        case false?: return .refused
        case nil: return .unavailable
        }
    }

    // MARK: Claims

    /// Returns the user ID in the claims; nil when any claim is invalid.
    private func subject(of claims: Claims) -> String? {
        let now = WallClock.date.timeIntervalSince1970
        guard policy.hasExpectedAudience(claims, project),
            policy.hasExpectedIssuer(claims, project),
            !policy.hasExpired(claims, now), !policy.isIssuedInFuture(claims, now)
        else { return nil }
        return policy.subject(claims)
    }

    static func hasExpectedAudience(_ claims: Claims, _ project: String) -> Bool {
        claims.audience == project
    }

    static func hasExpectedIssuer(_ claims: Claims, _ project: String) -> Bool {
        claims.issuer == "https://securetoken.google.com/" + project
    }

    static func hasExpired(_ claims: Claims, now: Double) -> Bool {
        claims.expiry.map { $0 <= now } ?? true
    }

    /// Returns whether a token was issued in the future, or its user signed in in the future.
    ///
    /// A token without these times counts as a token of the future.
    static func isIssuedInFuture(_ claims: Claims, now: Double) -> Bool {
        guard let issuedAt = claims.issuedAt, let signedInAt = claims.signedInAt else {
            return true
        }
        return max(issuedAt, signedInAt) > now + clockSkewMaxInSeconds
    }

    /// Returns the user ID of a token.
    ///
    /// Only the subject is used, because an email address can change its owner (F-08, F-09).
    static func subject(_ claims: Claims) -> String? {
        claims.subject.flatMap { (1...128).contains($0.count) ? $0 : nil }
    }

    // MARK: Signature

    /// Returns whether a token has an RS256 signature by a published key, whatever algorithm its
    /// header names; nil when the keys are unavailable.
    static func isSigned(_ verifier: TokenVerifier, _ token: Token) async -> Bool? {
        guard verifier.keysURL != nil else {
            return token.algorithm == "none" && token.signature.isEmpty
        }
        guard token.algorithm == "RS256", let keyID = token.keyID else { return false }
        switch await verifier.key(keyID) {
        case .success(let key?):
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: token.signature),
                for: Data(token.message.utf8),
                padding: .insecurePKCS1v1_5
            )
        case .success(nil): return false
        case .failure: return nil
        }
    }

    private struct KeysUnavailable: Error {}

    private func key(_ id: String) async -> Swift.Result<_RSA.Signing.PublicKey?, KeysUnavailable> {
        let now = WallClock.date
        let knownKeys = cachedKeys.withLockedValue { $0 }
        if now < knownKeys.validUntil, let key = knownKeys.keys[id] { return .success(key) }
        guard policy.mayRefetchKeys(now, knownKeys) else { return .success(nil) }
        if now < knownKeys.validUntil { cachedKeys.withLockedValue { $0.lastRefetch = now } }
        guard let fetchedKeys = await fetchKeys() else {
            // The known keys can be used until they expire.
            if now < knownKeys.validUntil { return .success(nil) }
            return .failure(KeysUnavailable())
        }
        cachedKeys.withLockedValue { policy.replaceKeys(&$0, fetchedKeys) }
        return .success(fetchedKeys.keys[id])
    }

    /// Replaces the known keys with the fetched keys.
    ///
    /// A key that is missing among the fetched keys was withdrawn (F-05).
    static func replaceKeys(_ knownKeys: inout PublishedKeys, from fetchedKeys: PublishedKeys) {
        knownKeys.keys = fetchedKeys.keys
        knownKeys.validUntil = fetchedKeys.validUntil
    }

    /// Returns whether the keys may be fetched again.
    ///
    /// They may be fetched after their expiry. Before it, a fetch for an unknown key ID is allowed
    /// once in `refetchInterval` (F-05).
    static func mayRefetchKeys(_ now: Date, _ knownKeys: PublishedKeys) -> Bool {
        now >= knownKeys.validUntil
            || now.timeIntervalSince(knownKeys.lastRefetch) > refetchInterval
    }

    private func fetchKeys() async -> PublishedKeys? {
        guard let keysURL,
            // A fetch that fails is repeated at the next token that needs the keys.
            let response = try? await client.execute(
                HTTPClientRequest(url: keysURL),
                timeout: .seconds(3)
            ), response.status == .ok, let body = try? await response.body.collect(upTo: 1 << 20),
            let rootObject = Self.decodedObject(Data(body.readableBytesView)),
            let keyEntries = rootObject["keys"] as? [[String: Any]]
        else { return nil }
        var keys = PublishedKeys()
        for entry in keyEntries {
            guard let id = entry["kid"] as? String, let modulus = entry["n"] as? String,
                let exponent = entry["e"] as? String, let n = Self.bytes(modulus),
                let e = Self.bytes(exponent)
            else { continue }
            // A key that is not an RSA key verifies no token.
            keys.keys[id] = try? _RSA.Signing.PublicKey(n: n, e: e)
        }
        let cacheControl = response.headers.first(name: "cache-control") ?? ""
        let maxAgeInSeconds = cacheControl.split(separator: ",").lazy.compactMap {
            part -> Double? in
            let directiveParts = part.split(separator: "=")
            return directiveParts.count == 2 && directiveParts[0].hasSuffix("max-age")
                ? Double(directiveParts[1]) : nil
        }.first
        keys.validUntil = Date(timeIntervalSinceNow: maxAgeInSeconds ?? 0)
        return keys
    }

    // MARK: Revocation

    /// Returns whether the session of a user is still valid; nil when Firebase cannot be reached,
    /// and true when no Firebase URL is configured.
    static func isSessionValid(
        _ verifier: TokenVerifier,
        _ subject: String,
        _ claims: Claims
    ) async -> Bool? {
        guard let authURL = verifier.authURL else { return true }
        let project = verifier.project
        var request = HTTPClientRequest(
            url: "\(authURL)/identitytoolkit.googleapis.com/v1/projects/\(project)/accounts:lookup"
        )
        request.method = .POST
        request.headers.add(name: "authorization", value: "Bearer owner")
        request.headers.add(name: "content-type", value: "application/json")
        // A string always encodes as JSON. The result is nil when the call fails.
        let data = try? JSONSerialization.data(withJSONObject: ["localId": [subject]])
        request.body = .bytes(ByteBuffer(bytes: data ?? Data()))
        guard let response = try? await verifier.client.execute(request, timeout: .seconds(3)),
            response.status == .ok, let body = try? await response.body.collect(upTo: 1 << 20)
        else { return nil }
        let accountRecords =
            decodedObject(Data(body.readableBytesView))?["users"] as? [[String: Any]]
        // A user that Firebase does not know has no session that could be revoked. The route
        // handles unknown users.
        guard let user = accountRecords?.first else { return true }
        if user["disabled"] as? Bool == true { return false }
        let validSince = (user["validSince"] as? String).flatMap(Double.init) ?? 0
        return (claims.issuedAt ?? 0) >= validSince
    }

    // MARK: Parts

    private static func decodedObject(_ part: String) -> [String: Any]? {
        bytes(part).flatMap(decodedObject)
    }

    private static func decodedObject(_ data: Data) -> [String: Any]? {
        // Nil means that the part is not a JSON object.
        try? JSONSerialization.jsonObject(with: data) as? [String: Any]
    }

    private static func bytes(_ part: String) -> Data? {
        var text = part.replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        while text.count % 4 != 0 { text += "=" }
        return Data(base64Encoded: text)
    }
}
