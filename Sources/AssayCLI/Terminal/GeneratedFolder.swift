internal import Foundation
internal import Programs
internal import Values

/// The folder `.assay`, which contains all files that Assay generates unasked.
///
/// Version control ignores the folder, because it contains its own `.gitignore`.
enum GeneratedFolder {
    private static let name = ".assay"

    /// The folder for contracts that reproduce found failures, in the current folder.
    ///
    /// Their paths are `found/NAME.yaml` in it.
    static let found = name

    /// Returns the path of the folder next to a profile, or in the current folder without a
    /// profile.
    static func path(nextTo profilePath: String?) -> String {
        let profileFolder = PathName(profilePath ?? "").folder
        return (profileFolder.isEmpty ? "" : profileFolder + "/") + name
    }

    /// Creates the folder and its `.gitignore`.
    ///
    /// A `.gitignore` that exists stays unchanged.
    static func make(_ path: String) throws(OutputFile.WriteError) {
        try OutputFile.makeFolder(path, .ownerOnly)
        let gitignorePath = path + "/.gitignore"
        guard !FileManager.default.fileExists(atPath: gitignorePath) else { return }
        try OutputFile(gitignorePath, .ownerOnly).write("*\n")
    }

    /// Creates the folder when a path of a generated file is in it.
    static func make(containing path: String) throws(OutputFile.WriteError) {
        guard path.split(separator: "/").first == name[...] else { return }
        try make(name)
    }
}
