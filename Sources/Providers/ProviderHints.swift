/// Hints that reveal, in the files of a backend, that the backend uses a provider.
package struct ProviderHints: Sendable {
    /// Parts of the names of the provider's environment variables, in upper case, such as
    /// `ONESIGNAL`.
    ///
    /// Underscores separate the parts of a name.
    package var environmentVariableNameParts: [String]
    /// Values for environment variables that contain neither an address nor a secret, by a part of
    /// the variable's name, such as `APP_ID`.
    package var values: [String: String]
    /// The environment variables that make a backend call an emulator of the service.
    package var emulatorVariables: [String]
    /// The names of packages with which programs use the service, in lower case.
    package var packages: [String]

    package init(
        environmentVariableNameParts: [String] = [],
        values: [String: String] = [:],
        emulatorVariables: [String] = [],
        packages: [String] = []
    ) {
        self.environmentVariableNameParts = environmentVariableNameParts
        self.values = values
        self.emulatorVariables = emulatorVariables
        self.packages = packages
    }
}
