internal import Providers
internal import Values

/// The project whose ID tokens a backend accepts, found in the files that name it.
///
/// The official SDKs take the project from the key file of a service account, and refuse the tokens
/// of any other project.
enum TokenProject {
    /// The name of the service that issues ID tokens.
    private static let issuer =
        Services.providers.first { $0.tokenIssuer != nil }?.party.description ?? ""
    /// The key of the project in a profile.
    static let profileKey = issuer + "-project"
    /// The file with which the command line tool of the service selects a project.
    private static let settingsFile = ".\(issuer)rc"
    private static let keyFileWords = ["serviceaccount", "adminsdk", "credential", issuer]

    /// Returns whether a file with this name may name the project.
    static func mayBeNamed(inFile name: String) -> Bool {
        let letters = name.lowercased().filter(\.isLetter)
        return name == settingsFile
            || name.hasSuffix(".json") && keyFileWords.contains(where: letters.contains)
    }

    /// Returns the ID of the project that a file names; nil if it names none.
    static func id(in file: SourceSurvey.File) -> String? {
        let name = file.path.split(separator: "/").last.map(String.init) ?? file.path
        guard mayBeNamed(inFile: name), let content = JSONValue(ifValid: Array(file.text.utf8))
        else { return nil }
        let id =
            name == settingsFile
            ? content["projects"]?["default"]?.string : Self.id(ofServiceAccount: content)
        return id.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the ID of the project that environment variables name: the one of a service account
    /// whose key is a value, or else the value of a variable for the project.
    static func id(in values: [String: String]) -> String? {
        let sorted = values.sorted { $0.key < $1.key }
        let account = sorted.lazy.filter { $0.value.contains("service_account") }
            .compactMap { JSONValue(ifValid: Array($0.value.utf8)).flatMap(id(ofServiceAccount:)) }
            .first
        return account ?? sorted.first { isNameOfProject($0.key) }?.value
    }

    /// Returns the ID of the project that the code uses if no variable names it.
    static func id(in variables: [SourceSurvey.Variable]) -> String? {
        variables.first { isNameOfProject($0.name) && $0.fallback?.isEmpty == false }?.fallback
    }

    private static func isNameOfProject(_ name: String) -> Bool {
        let name = name.uppercased()
        return name.contains(issuer.uppercased()) && name.hasSuffix("PROJECT_ID")
    }

    private static func id(ofServiceAccount content: JSONValue) -> String? {
        content["type"]?.string == "service_account" ? content["project_id"]?.string : nil
    }
}
