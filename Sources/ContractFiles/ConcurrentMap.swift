internal import Dispatch

extension Collection where Element: Sendable, Index == Int, Self: Sendable {
    /// Returns the transformed elements in order, computed on all processors.
    ///
    /// - Parameters:
    ///   - chunkMin: The smallest number of elements that a processor transforms at once.
    ///   - transform: The function that transforms an element. It is called once for each element,
    ///     on any thread.
    /// - Returns: One result for each element.
    package func concurrentMap<Output: Sendable>(
        chunkMin: Int = 64,
        _ transform: @Sendable (Element) -> Output
    ) -> [Output] {
        let partCount = Swift.min(count / chunkMin, 256)
        guard partCount > 1 else { return map(transform) }
        let partBounds = (0...partCount).map { startIndex + count * $0 / partCount }
        var partOutputs = [[Output]](repeating: [], count: partCount)
        partOutputs.withUnsafeMutableBufferPointer { buffer in
            // Each part is written by a single thread, and read after all threads have finished.
            nonisolated(unsafe) let buffer = buffer
            DispatchQueue.concurrentPerform(iterations: partCount) { index in
                buffer[index] = (partBounds[index]..<partBounds[index + 1]).map {
                    transform(self[$0])
                }
            }
        }
        return partOutputs.flatMap(\.self)
    }
}
