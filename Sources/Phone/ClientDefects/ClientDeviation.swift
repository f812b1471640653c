package import Contracts
package import Values

/// A function that replaces one of the scripted app's decisions with the wrong decision of a
/// defect.
typealias ClientDeviation = @Sendable (inout ScriptedApp.Policy) -> Void

extension ScriptedApp {
    /// Opens a page of the app with the given defects, or of the correct app when there are none.
    ///
    /// - Parameters:
    ///   - globals: The global variables that the Despia runtime provides on the window.
    ///   - userAgent: The user agent string of the page.
    ///   - keys: The names of the vault entries, by their role.
    ///   - storage: The web storage that an earlier page left on the phone.
    ///   - defects: The defects that the app has.
    ///   - seed: The seed of the random IDs that the app creates.
    package init(
        globals: JSONObject,
        userAgent: String,
        keys: [PhoneChange.VaultRole: String],
        storage: Storage,
        defects: Set<ClientDefect>,
        seed: UInt64
    ) {
        var policy = Policy()
        // The defects are applied in a fixed order, because one defect can change the effect of
        // another.
        for defect in ClientDefect.allCases where defects.contains(defect) {
            ClientDefect.deviations[defect]?(&policy)
        }
        self.init(
            globals: globals,
            userAgent: userAgent,
            keys: keys,
            storage: storage,
            policy: policy,
            seed: seed
        )
    }
}

extension ClientDefect {
    static let deviations = [start, identityDeviations, sellingDeviations].reduce(into: [:]) {
        all,
        some in
        all.merge(some) { $1 }
    }
}
