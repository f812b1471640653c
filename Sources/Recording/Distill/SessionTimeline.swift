internal import Values

/// Converts the times in a session's requests to relative times of a golden contract, such as
/// `{{now+30d}}`.
///
/// The offsets are whole seconds and keep the order of the times: a time 24 ms after another time
/// becomes one second later. The offsets count from the earliest event, which becomes `{{now}}`.
/// That could move a past time into the future, or a future time into the past. In this case the
/// offsets count from an hour before the session, because `{{now}}` is an hour before a run of the
/// contract begins. So a subscription period that had ended stays ended, and a period of five
/// minutes stays open.
struct SessionTimeline {
    /// The time between `{{now}}` of a contract and the beginning of the run, which is later.
    private static let leadTime: Duration = .seconds(3600)
    /// The maximum distance from the present at which a time still counts as present, and not as
    /// past or future.
    private static let tolerance: Duration = .seconds(10)
    /// The maximum duration of a run of a golden contract.
    private static let runDurationMax: Duration = .seconds(600)

    /// The recorded time that becomes `{{now}}`, from which all offsets are counted.
    let base: Instant
    private var offsetByMillisecond: [Int64: Duration] = [:]
    private var offsetBySecond: [Int64: Duration] = [:]

    /// Creates a conversion in which every time keeps its exact offset from `base`.
    init(base: Instant) { self.base = base }

    /// Creates a conversion for the times in the requests of one contract.
    ///
    /// - Parameters:
    ///   - exchanges: The exchanges of the contract.
    ///   - began: The time when the recording began.
    init(_ exchanges: [Exchange], began: Instant) {
        self.init(exchanges, exchanges.map(RequestTexts.init), began: began)
    }

    /// Creates a conversion for the times in the requests of one contract.
    ///
    /// - Parameters:
    ///   - exchanges: The exchanges of the contract.
    ///   - texts: The content of the request of each exchange.
    ///   - began: The time when the recording began.
    init(_ exchanges: some Collection<Exchange>, _ texts: [RequestTexts], began: Instant) {
        func realTime(_ exchange: Exchange) -> Instant { began + .microseconds(exchange.invoked) }
        let recordedTimes = zip(exchanges, texts).map {
            (realTimeOfExchange: realTime($0), requestTimes: $1.requestTimes)
        }
        let earliestTime =
            zip(exchanges, texts).filter { $0.0.from != .app }.flatMap(\.1.eventTimes).min()
            ?? exchanges.first?.at ?? began
        let keepsAllDistances = recordedTimes.allSatisfy { realTimeOfExchange, requestTimes in
            requestTimes.allSatisfy {
                Self.keepsDistance($0, realTimeOfExchange, from: earliestTime)
            }
        }
        if keepsAllDistances {
            base = earliestTime
        } else {
            let offset = earliestTime - (exchanges.first.map(realTime) ?? began) + Self.leadTime
            let offsetInMinutes = (Double(offset.milliseconds) / 60_000).rounded()
            base = earliestTime - .seconds(Int64(offsetInMinutes) * 60)
        }
        var previousOffset: Duration?
        for time in Set(recordedTimes.flatMap(\.requestTimes)).sorted() {
            var offset = Self.rounded(time - base)
            if let previousOffset, offset <= previousOffset {
                offset = previousOffset + .seconds(1)
            }
            previousOffset = offset
            offsetByMillisecond[time.milliseconds] = offset
            if offsetBySecond[time.seconds] == nil { offsetBySecond[time.seconds] = offset }
        }
    }

    /// Returns the offset of a recorded time from `base`, which becomes `{{now}}`.
    ///
    /// If `isTruncated` is true, the time was truncated to whole seconds, so it may equal a known time
    /// whose fraction was removed.
    func offset(of time: Instant, isTruncated: Bool) -> Duration {
        if let offset = offsetByMillisecond[time.milliseconds] { return offset }
        if isTruncated, let offset = offsetBySecond[time.seconds] { return offset }
        return isTruncated ? Self.rounded(time - base) : time - base
    }

    private static func rounded(_ offset: Duration) -> Duration {
        let roundingInMilliseconds: Int64 = offset < .zero ? -500 : 500
        return .milliseconds(
            offset.milliseconds.addingSaturated(roundingInMilliseconds) / 1000 * 1000
        )
    }

    /// Returns whether a recorded time stays in the past, present or future when a run uses it
    /// relative to `{{now}}`.
    private static func keepsDistance(
        _ time: Instant,
        _ realTimeOfExchange: Instant,
        from base: Instant
    )
        -> Bool
    {
        let timeAhead = time - realTimeOfExchange
        let timeAheadInRun = time - base - leadTime
        if timeAhead > tolerance { return timeAheadInRun > runDurationMax }
        return timeAhead < .zero - tolerance
            ? timeAheadInRun < .zero - tolerance : timeAheadInRun <= runDurationMax
    }
}
