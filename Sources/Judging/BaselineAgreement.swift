extension CaseEvidence {
    /// The differences between the baseline runs of a case: JSON paths in probe responses, and
    /// recipients of effects.
    ///
    /// Such values differ in every run, or one of the runs was probed too early. A recipient is
    /// included when the numbers of effects for the recipient differ.
    package var baselineDisagreements: Set<String> {
        var disagreements = Set(StateComparison(self).volatilePaths)
        let effects = baselines.map { ComparableRun($0, self).effects.mapValues(\.count) }
        for counts in effects.dropFirst() where counts != effects[0] {
            let effectKeys = Set(counts.keys).union(effects[0].keys)
            for effectKey in effectKeys where counts[effectKey] != effects[0][effectKey] {
                disagreements.insert(effectKey.text)
            }
        }
        return disagreements
    }
}
