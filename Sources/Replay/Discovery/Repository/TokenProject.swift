internal import Values

/// The project whose ID tokens a backend accepts, found in the files that name it.
///
/// The official SDKs take the project from the key file of a service account, and refuse the tokens
/// of any other project.
enum TokenProject {
    private static let settingsFile = ".firebaserc"
    private static let keyFileWords = ["serviceaccount", "adminsdk", "firebase", "credential"]

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
            ? content["projects"]?["default"]?.string
            : content["type"]?.string == "service_account" ? content["project_id"]?.string : nil
        return id.flatMap { $0.isEmpty ? nil : $0 }
    }
}
