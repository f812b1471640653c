internal import Contracts
internal import FakeServers
internal import Providers
internal import Values

/// ID tokens that expire while a case runs, for any clock skew that the backend tolerates (clause
/// F-02).
///
/// The tolerance is measured with trial tokens that have already expired by different amounts of
/// time: the backend accepts some of them and rejects others.
struct ExpiringTokens: Sendable {
    /// The number of seconds after the expiration time of a token at which every backend has to
    /// reject it (clause F-02).
    private static let toleranceSecondsMax: Int64 = 120
    /// The precision of the measured tolerance, in seconds.
    ///
    /// It is also the shortest time for which a created token is valid.
    private static let precisionInSeconds: Int64 = 2
    /// The longest wait for the rejection of a token, after its expiration time and the measured
    /// tolerance have passed.
    private static let settleTimeout: Duration = .seconds(20)

    /// The tokens that expire while the case runs, by call; their ends are in seconds since 1970.
    var tokens: [String: (token: String, end: Int64)] = [:]
    /// The number of trial tokens sent to find out how long the backend accepts an expired token.
    private var trialTokenCount = 0

    /// Returns the expiration time of a token that the backend still accepts, but only for a few
    /// more seconds.
    ///
    /// The time is in seconds since 1970.
    mutating func nearlyExpiredEnd(_ trials: TokenTrials) async -> Int64 {
        var (acceptedSeconds, refusedSeconds) = (Int64(0), Self.toleranceSecondsMax)
        while refusedSeconds - acceptedSeconds > Self.precisionInSeconds, !Task.isCancelled {
            let trialSeconds = (acceptedSeconds + refusedSeconds) / 2
            if await acceptsToken(end: trials.run.backendNow.seconds - trialSeconds, trials) {
                acceptedSeconds = trialSeconds
            } else {
                refusedSeconds = trialSeconds
            }
        }
        return trials.run.backendNow.seconds - acceptedSeconds + Self.precisionInSeconds
    }

    /// Waits until the backend rejects new tokens with the given expiration time, in seconds since
    /// 1970.
    ///
    /// Returns an error message if the backend keeps accepting them; nil on success.
    mutating func waitUntilExpired(_ end: Int64, _ trials: TokenTrials) async -> String? {
        let settleTimeout = trials.run.settleTimeout(Self.settleTimeout)
        while await acceptsToken(end: end, trials) {
            guard !settleTimeout.isOver, !Task.isCancelled else {
                return "the backend still accepts a new token that expired at \(end); it is now "
                    + "\(trials.run.backendNow.seconds) (both in seconds since 1970)"
            }
            await settleTimeout.pause(.milliseconds(250))
        }
        return nil
    }

    private mutating func acceptsToken(end: Int64, _ trials: TokenTrials) async -> Bool {
        guard let endpoint = trials.endpoint else { return false }
        trialTokenCount += 1
        return await trials.acceptsToken(end: end, number: trialTokenCount, endpoint)
    }
}

/// Sends trial tokens in place of the token of one call.
struct TokenTrials {
    let requests: CaseRequests
    let call: Call
    /// Returns the values for the templates in the endpoint of the call.
    let values: () -> [String: String?]

    var run: RunExecutor { requests.run }

    var endpoint: Profile.Endpoint? { run.profile.endpoints[call.route.rawValue] }

    /// Sends a new token with the given expiration time, in seconds since 1970, and returns whether
    /// the backend accepts the token.
    func acceptsToken(end: Int64, number: Int, _ endpoint: Profile.Endpoint) async -> Bool {
        var spec = TokenSpec()
        spec.claims = claims(endingAt: end)
        spec.claims["jti"] = .string("trial-\(number)")
        let user = call.user.map { requests.namespace.id(of: $0) } ?? ""
        guard let token = run.tokenForge.text(spec, user: user, at: run.backendNow) else {
            return false
        }
        let (sequence, outcome) = await requests.send(
            endpoint,
            values(),
            purpose: .appCall("\(call.name), with a trial token"),
            fields: [HTTPMessage.Field("Authorization", "Bearer " + token)],
            lane: 0
        )
        run.fakes.journal.complete(sequence, outcome)
        guard case .answered(let response) = outcome else { return false }
        return (200..<300).contains(response.status)
    }

    /// Returns the time claims (`exp`, `iat`, `auth_time`) of a token with the given expiration
    /// time.
    ///
    /// The issue time is before the expiration time, and at least a minute before the current time
    /// of the backend's clock.
    func claims(endingAt end: Int64) -> [String: JSONValue?] {
        let issueTime = min(run.backendNow.seconds - 60, end - 1)
        return ["exp": .integer(end), "iat": .integer(issueTime), "auth_time": .integer(issueTime)]
    }
}
