internal import Conformance
internal import FakeServers
internal import Providers

/// Tokens that end while a case goes on, however far the backend lets clocks differ (F-02).
///
/// How far that is shows in which tokens it takes: tokens that nobody has seen before, with other
/// ends.
extension Play {
    /// Everybody refuses a token that ended so many seconds ago (F-02).
    private static let skewMax: Int64 = 120
    /// In seconds: so exactly is the difference known, and so long a token is good at least.
    private static let precision: Int64 = 2
    /// How long a token may go on to be good beyond its end and that difference.
    private static let patience: Duration = .seconds(20)

    /// The end of a token that is good now and will not be in a moment, in seconds since 1970.
    mutating func soonestEnd(_ call: Call) async -> Int64 {
        var (accepted, refused) = (Int64(0), Self.skewMax)
        while refused - accepted > Self.precision, !Task.isCancelled {
            let middle = (accepted + refused) / 2
            if await accepts(end: run.backendNow.seconds - middle, call) {
                accepted = middle
            } else {
                refused = middle
            }
        }
        return run.backendNow.seconds - accepted + Self.precision
    }

    /// Waits until the backend refuses whoever comes with that end for the first time.
    mutating func awaitEnd(_ end: Int64, _ call: Call) async {
        let patience = run.patience(Self.patience)
        while await accepts(end: end, call) {
            guard !patience.isOver, !Task.isCancelled else {
                trouble =
                    trouble
                    ?? .disturbanceMissed(
                        "a new token that ended at \(end) is still good at \(run.backendNow.seconds)"
                    )
                return
            }
            await patience.pause(.milliseconds(250))
        }
    }

    /// Whether a token with that end passes that nobody has shown yet.
    private mutating func accepts(end: Int64, _ call: Call) async -> Bool {
        guard let endpoint = profile.endpoints[call.route.rawValue] else { return false }
        trialCount += 1
        var spec = TokenSpec()
        spec.claims = claims(endingAt: end)
        spec.claims["jti"] = .string("trial-\(trialCount)")
        let user = call.user.map { namespace.id(of: $0) } ?? ""
        guard let token = run.forge.text(spec, user: user, at: run.backendNow) else { return false }
        let (sequence, outcome) = await send(
            endpoint,
            values(of: call),
            purpose: .appCall("\(call.name), tried with another token"),
            fields: [HTTPMessage.Field("Authorization", "Bearer " + token)],
            lane: 0
        )
        world.journal.complete(sequence, outcome)
        guard case .answered(let response) = outcome else { return false }
        return (200..<300).contains(response.status)
    }

    /// What a token says of time that ends then; it was issued before it ended.
    func claims(endingAt end: Int64) -> [String: JSONValue?] {
        let issued = min(run.backendNow.seconds - 60, end - 1)
        return ["exp": .integer(end), "iat": .integer(issued), "auth_time": .integer(issued)]
    }
}
