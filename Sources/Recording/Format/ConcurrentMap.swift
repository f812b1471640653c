internal import Dispatch
internal import FakeServers

extension Collection where Element: Sendable, Index == Int, Self: Sendable {
    /// Each element's image, in order, computed on every processor.
    ///
    /// - Parameters:
    ///   - least: How many elements are worth a part of their own.
    ///   - transform: Is called once for each element, on any thread.
    /// - Returns: As many images as there are elements.
    func concurrentMap<Image: Sendable>(
        least: Int = 64,
        _ transform: @Sendable (Element) -> Image
    ) -> [Image] {
        let partCount = Swift.min(count / least, 256)
        guard partCount > 1 else { return map(transform) }
        let bounds = (0...partCount).map { startIndex + count * $0 / partCount }
        let parts = Locked([[Image]](repeating: [], count: partCount))
        DispatchQueue.concurrentPerform(iterations: partCount) { index in
            let images = (bounds[index]..<bounds[index + 1]).map { transform(self[$0]) }
            parts.withLock { $0[index] = images }
        }
        return parts.withLock { $0 }.flatMap(\.self)
    }
}
