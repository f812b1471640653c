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
        func real(_ exchange: Exchange) -> Instant { began + .microseconds(exchange.invoked) }
        let said = exchanges.map { exchange in
            (present: real(exchange), moments: Self.moments(in: exchange.request.body))
        }
        let earliest =
            exchanges.filter { $0.from != .app }.flatMap(Self.eventTimes).min()
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

    // MARK: What a request says

    /// Numbers of milliseconds, and dates with a fraction: one without may have been cut.
    private static func moments(in body: [UInt8]) -> [Instant] {
        guard let value = try? JSONValue(parsing: body) else { return [] }
        var found: [Instant] = []
        _ = value.mapLeaves { leaf in
            switch leaf {
            case .number: found += [TemplateNamer.milliseconds(leaf)].compactMap(\.self)
            case .string(let text):
                if let date = TemplateNamer.date(text), date.milliseconds % 1000 != 0 {
                    found.append(date)
                }
            // Neither is a time.
            case .null, .bool, .array, .object: break
            }
            return leaf
        }
        return found
    }

    private static func eventTimes(_ exchange: Exchange) -> [Instant] {
        guard let body = try? JSONValue(parsing: exchange.request.body) else { return [] }
        let event = body["event"] ?? body
        return ["event_timestamp_ms", "purchased_at_ms", "event_created_at_ms"]
            .compactMap { event[$0].flatMap(TemplateNamer.milliseconds) }
    }
}
