/// What is slow everywhere makes a run long and is no case's: every answer is waited for.
///
/// Source: clause S-06.
package enum Slowness {
    /// From so long on a plain purchase's answer is worth a word.
    private static let noticed: Duration = .seconds(1)

    /// What to tell of a run's plain purchases; nil where half of them were answered in time.
    package static func note(_ exchanges: [Exchange]) -> String? {
        let times = exchanges.filter { $0.purpose == .sentinel }
            .compactMap { exchange in exchange.completed.map { $0 - exchange.invoked } }.sorted()
        guard !times.isEmpty else { return nil }
        let median: Duration = .microseconds(times[times.count / 2])
        guard median > noticed else { return nil }
        let seconds = Double(median.milliseconds / 100) / 10
        return
            "a plain purchase is answered after \(seconds) s: every case waits for it, and so does "
            + "the sender, who gives up at 60 s and comes again (S-06); store the event, answer, "
            + "and do the rest later"
    }
}
