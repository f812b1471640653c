internal import Conformance

/// The moments that a session's requests say, and what a golden calls them.
///
/// Offsets are whole seconds and keep the order of the moments: what came 24 ms later comes a second
/// later. They count from the earliest event, so that it is `{{now}}`; where that would move a
/// moment past the present, in either direction, from an hour before the session, as a run counts
/// from an hour before it begins. So a period that had ended stays ended, and one of five minutes
/// stays open.
struct SessionMoments {
    /// How long before its beginning a run's `{{now}}` lies.
    private static let lead: Duration = .seconds(3600)
    /// What is so near is the present.
    private static let slack: Duration = .seconds(10)
    /// A run is over by then.
    private static let runMax: Duration = .seconds(600)

    /// The moment that relative times count from.
    let base: Instant
    private var offsets: [Int64: Duration] = [:]
    private var offsetsBySecond: [Int64: Duration] = [:]

    /// Moments as they are, from a base.
    init(base: Instant) { self.base = base }

    /// - Parameters:
    ///   - exchanges: Those of one contract.
    ///   - began: When the recording began.
    init(_ exchanges: [Exchange], began: Instant) {
        self.init(exchanges, exchanges.map(RequestTexts.init), began: began)
    }

    /// - Parameters:
    ///   - exchanges: Those of one contract.
    ///   - texts: What each of them said.
    ///   - began: When the recording began.
    init(_ exchanges: some Collection<Exchange>, _ texts: [RequestTexts], began: Instant) {
        func real(_ exchange: Exchange) -> Instant { began + .microseconds(exchange.invoked) }
        let said = zip(exchanges, texts).map { (present: real($0), moments: $1.moments) }
        let earliest =
            zip(exchanges, texts).filter { $0.0.from != .app }.flatMap(\.1.eventTimes).min()
            ?? exchanges.first?.at ?? began
        let isKept = said.allSatisfy { present, moments in
            moments.allSatisfy { Self.keeps($0, present, from: earliest) }
        }
        if isKept {
            base = earliest
        } else {
            let offset = earliest - (exchanges.first.map(real) ?? began) + Self.lead
            let minutes = (Double(offset.milliseconds) / 60_000).rounded()
            base = earliest - .seconds(Int64(minutes) * 60)
        }
        var previous: Duration?
        for moment in Set(said.flatMap(\.moments)).sorted() {
            var offset = Self.rounded(moment - base)
            if let previous, offset <= previous { offset = previous + .seconds(1) }
            previous = offset
            offsets[moment.milliseconds] = offset
            if offsetsBySecond[moment.seconds] == nil { offsetsBySecond[moment.seconds] = offset }
        }
    }

    /// The offset from the base; `isCut` says that the moment is what is left of another, cut to its
    /// second.
    func offset(of moment: Instant, isCut: Bool) -> Duration {
        if let offset = offsets[moment.milliseconds] { return offset }
        if isCut, let offset = offsetsBySecond[moment.seconds] { return offset }
        return isCut ? Self.rounded(moment - base) : moment - base
    }

    private static func rounded(_ offset: Duration) -> Duration {
        let half: Int64 = offset < .zero ? -500 : 500
        return .milliseconds(offset.milliseconds.addingSaturated(half) / 1000 * 1000)
    }

    /// Whether a moment lies on the same side of a run's present as of the session's.
    private static func keeps(_ moment: Instant, _ present: Instant, from base: Instant) -> Bool {
        let ahead = moment - present
        let aheadThen = moment - base - lead
        if ahead > slack { return aheadThen > runMax }
        return ahead < .zero - slack ? aheadThen < .zero - slack : aheadThen <= runMax
    }
}
