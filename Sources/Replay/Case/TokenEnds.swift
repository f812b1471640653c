internal import Contracts
internal import FakeServers
internal import Grammar
internal import Providers
internal import Values

/// Creates ID tokens that expire while a case runs, for any clock skew that the backend tolerates
/// (clause F-02).
///
/// The tolerance is measured with trial tokens that have already expired by different amounts of
/// time: the backend accepts some of them and rejects others.
extension CaseExecution {
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

    /// Returns the expiration time of a token that the backend still accepts, but only for a few
    /// more seconds.
    ///
    /// The time is in seconds since 1970.
    mutating func nearlyExpiredEnd(_ call: Call) async -> Int64 {
        var (acceptedSeconds, refusedSeconds) = (Int64(0), Self.toleranceSecondsMax)
        while refusedSeconds - acceptedSeconds > Self.precisionInSeconds, !Task.isCancelled {
            let trialSeconds = (acceptedSeconds + refusedSeconds) / 2
            if await acceptsToken(end: run.backendNow.seconds - trialSeconds, call) {
                acceptedSeconds = trialSeconds
            } else {
                refusedSeconds = trialSeconds
            }
        }
        return run.backendNow.seconds - acceptedSeconds + Self.precisionInSeconds
    }

    /// Waits until the backend rejects new tokens with the given expiration time, in seconds since
    /// 1970.
    mutating func waitUntilTokenExpires(_ end: Int64, _ call: Call) async {
        let settleTimeout = run.settleTimeout(Self.settleTimeout)
        while await acceptsToken(end: end, call) {
            guard !settleTimeout.isOver, !Task.isCancelled else {
                runProblem =
                    runProblem
                    ?? .faultNotApplied(
                        "the backend still accepts a new token that expired at \(end); it is now "
                            + "\(run.backendNow.seconds) (both in seconds since 1970)"
                    )
                return
            }
            await settleTimeout.pause(.milliseconds(250))
        }
    }

    /// Sends a new token with the given expiration time, in seconds since 1970, and returns whether
    /// the backend accepts the token.
    private mutating func acceptsToken(end: Int64, _ call: Call) async -> Bool {
        guard let endpoint = profile.endpoints[call.route.rawValue] else { return false }
        trialTokenCount += 1
        var spec = TokenSpec()
        spec.claims = claims(endingAt: end)
        spec.claims["jti"] = .string("trial-\(trialTokenCount)")
        let user = call.user.map { namespace.id(of: $0) } ?? ""
        guard let token = run.tokenForge.text(spec, user: user, at: run.backendNow) else {
            return false
        }
        let (sequence, outcome) = await send(
            endpoint,
            values(of: call),
            purpose: .appCall("\(call.name), with a trial token"),
            fields: [HTTPMessage.Field("Authorization", "Bearer " + token)],
            lane: 0
        )
        fakes.journal.complete(sequence, outcome)
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
