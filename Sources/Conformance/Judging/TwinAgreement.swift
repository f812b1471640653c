extension CaseEvidence {
    /// Where the twins differ among themselves, by nature or because one was looked at too early:
    /// places in the probes' answers, and people who were not told equally often.
    package var twinDisagreements: Set<String> {
        var found = Set(StateComparison(self).volatile)
        let effects = twins.map { ComparableRun($0, self).effects.mapValues(\.count) }
        for counts in effects.dropFirst() where counts != effects[0] {
            let addresses = Set(counts.keys).union(effects[0].keys)
            for address in addresses where counts[address] != effects[0][address] {
                found.insert(address.text)
            }
        }
        return found
    }
}
