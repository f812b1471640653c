/// By what the files of a backend can be told to mean a provider.
package struct ProviderHints: Sendable {
    /// Parts of a variable's name, in upper case and between underscores.
    package var words: [String]
    /// What variables stand for that hold neither an address nor a secret, by a part of their names.
    package var values: [String: String]
    /// Packages through which programs use it, in lower case.
    package var packages: [String]
    /// Variables that say where the keys of its tokens are; empty where it issues none.
    package var keyAddresses: [String]

    package init(
        words: [String] = [],
        values: [String: String] = [:],
        packages: [String] = [],
        keyAddresses: [String] = []
    ) {
        self.words = words
        self.values = values
        self.packages = packages
        self.keyAddresses = keyAddresses
    }
}
