internal import Dispatch

extension Collection where Element: Sendable, Index == Int, Self: Sendable {
    /// Each element's image, in order, computed on every processor.
    ///
    /// - Parameters:
    ///   - least: How many elements are worth a part of their own.
    ///   - transform: Is called once for each element, on any thread.
    /// - Returns: As many images as there are elements.
    package func concurrentMap<Image: Sendable>(
        least: Int = 64,
        _ transform: @Sendable (Element) -> Image
    ) -> [Image] {
        let partCount = Swift.min(count / least, 256)
        guard partCount > 1 else { return map(transform) }
        let bounds = (0...partCount).map { startIndex + count * $0 / partCount }
        var parts = [[Image]](repeating: [], count: partCount)
        parts.withUnsafeMutableBufferPointer { buffer in
            // Each part is written by one thread alone, and read when all are done.
            nonisolated(unsafe) let buffer = buffer
            DispatchQueue.concurrentPerform(iterations: partCount) { index in
                buffer[index] = (bounds[index]..<bounds[index + 1]).map { transform(self[$0]) }
            }
        }
        return parts.flatMap(\.self)
    }
}
