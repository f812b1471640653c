/// The order and the offsets in which the concurrent requests of a run arrive.
///
/// A contract requires only that the requests overlap. One run of them may miss a race, so further
/// runs have other timings.
package struct ConcurrentTiming: Hashable, Codable, Sendable {
    /// Whether the requests arrive in the reverse of the order in the contract.
    package var isReversed: Bool
    /// The time between the arrivals of two consecutive requests; zero if all arrive at once.
    package var offset: Duration

    package init(isReversed: Bool, offset: Duration) {
        self.isReversed = isReversed
        self.offset = offset
    }
}

extension ConcurrentTiming {
    /// The timing of the first run: in the order of the contract, all at once.
    package static let allAtOnce = ConcurrentTiming(isReversed: false, offset: .zero)

    /// The divisors that make the offsets of a sweep from the longest offset.
    ///
    /// Each offset is half of the next larger one, so a sweep finds every race that shows in a range
    /// of offsets whose end is twice its start. The longest offset comes first, because it shows
    /// whether a failure depends on the timing at all.
    private static let divisors = [1, 64, 32, 16, 8, 4, 2]

    /// The number of timings that both orders and the two ends of the offsets need.
    package static let endCount = 4

    /// Returns the timings of a sweep, in both orders, from "all at once" to the longest offset.
    ///
    /// - Parameter longestOffset: The time after which one request has usually ended.
    /// - Returns: The timings, the one of the first run first.
    package static func sweep(upTo longestOffset: Duration) -> [ConcurrentTiming] {
        let offsets = [Duration.zero] + divisors.map { longestOffset / $0 }
        return offsets.flatMap { offset in
            [false, true].map { ConcurrentTiming(isReversed: $0, offset: offset) }
        }
    }
}

extension RunPlan {
    /// Whether different requests arrive at the same time, so that their order may matter.
    package var sendsDifferentRequestsConcurrently: Bool {
        deliveries.contains(where: \.isConcurrentWithNext)
    }
}
