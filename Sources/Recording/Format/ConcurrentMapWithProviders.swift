internal import ContractFiles
internal import Providers

extension Collection where Element: Sendable, Index == Int, Self: Sendable {
    /// Returns the transformed elements in order, as `concurrentMap` does, with the current table
    /// of providers on all threads.
    ///
    /// The threads do not belong to the current task, so they do not inherit the table by
    /// themselves.
    func concurrentMapWithProviders<Output: Sendable>(
        chunkMin: Int = 64,
        _ transform: @Sendable (Element) -> Output
    ) -> [Output] {
        let providers = ProviderTable.all
        return concurrentMap(chunkMin: chunkMin) { element in
            ProviderTable.$all.withValue(providers) { transform(element) }
        }
    }
}
