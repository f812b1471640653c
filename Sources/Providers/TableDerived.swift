internal import Values

/// A value that is derived from the provider table of the task.
///
/// The value is computed once for each table.
package struct TableDerived<Value: Sendable>: Sendable {
    private let make: @Sendable (ProviderTable) -> Value
    private let valuesByTable = Locked<[ProviderTable: Value]>([:])

    package init(_ make: @escaping @Sendable (ProviderTable) -> Value) { self.make = make }

    package var value: Value {
        let table = ProviderTable.all
        if let value = valuesByTable.withLock({ $0[table] }) { return value }
        // The value may need other values that are derived from the table, so no lock is held.
        let value = make(table)
        valuesByTable.withLock { $0[table] = value }
        return value
    }
}
