package import Contracts
package import Values

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
        for defect in ClientDefect.allCases where defects.contains(defect) {
            defect.changePolicy(&policy)
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
