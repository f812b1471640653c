internal import Foundation
internal import Replay

/// Reads the source and configuration files of a repository, up to limits on their number and size.
enum SourceFiles {
    private static let fileCountMax = 4000
    private static let folderCountMax = 4000
    private static let fileBytesMax = 512 << 10
    private static let totalBytesMax = 8 << 20
    /// The names of skipped folders: dependencies, build output, and files that the running backend
    /// does not use.
    private static let skippedFolders: Set<String> = [
        "node_modules", "venv", "env", "vendor", "dist", "build", "target", "__pycache__",
        "coverage",
        "Pods", "test", "tests", "spec", "__tests__", "site-packages", "migrations", "public",
        "static", "ios", "android", "out", "obj", "deps", "_build", "third_party", "assets",
        "bower_components", "DerivedData", "Carthage", "htmlcov", "locales", "fixtures", "e2e",
    ]
    /// A file that only the folder of a virtual environment for Python contains.
    private static let environmentMarker = "pyvenv.cfg"

    /// Reads the files of a repository.
    ///
    /// - Parameter folder: The folder of the repository.
    /// - Returns: The code, the manifests and `.env.example`, with paths relative to the folder.
    ///   Files near the top come first, because the limits cut off the last ones. Folders that
    ///   cannot be read are missing, and it prints a note for each of them.
    static func read(_ folder: String) -> [SourceSurvey.File] {
        let fileManager = FileManager.default
        var foundFiles: [SourceSurvey.File] = []
        var byteCount = 0
        var folders = [""]
        var readFolderCount = 0
        while readFolderCount < min(folders.count, folderCountMax),
            foundFiles.count < fileCountMax, byteCount < totalBytesMax
        {
            let relativeFolder = folders[readFolderCount]
            readFolderCount += 1
            let folderPath = relativeFolder.isEmpty ? folder : folder + "/" + relativeFolder
            let names: [String]
            do {
                names = try fileManager.contentsOfDirectory(atPath: folderPath)
            } catch {
                Terminal.error(
                    "assay: skipped the folder '\(folderPath)', which cannot be read: "
                        + "\(error.plainReason)\n"
                )
                continue
            }
            guard !names.contains(environmentMarker) else { continue }
            for name in names.sorted() {
                let path = relativeFolder.isEmpty ? name : "\(relativeFolder)/\(name)"
                let absolutePath = folder + "/" + path
                // A file that was removed after the listing is skipped.
                guard let attributes = try? fileManager.attributesOfItem(atPath: absolutePath)
                else {
                    continue
                }
                switch attributes[.type] as? FileAttributeType {
                case .typeDirectory:
                    if !name.hasPrefix("."), !skippedFolders.contains(name) { folders.append(path) }
                case .typeRegular:
                    let size = (attributes[.size] as? NSNumber)?.intValue ?? 0
                    if SourceSurvey.isMarker(path) {
                        foundFiles.append(SourceSurvey.File(path: path, text: ""))
                    }
                    guard SourceSurvey.isSource(path) || SourceSurvey.isManifest(path),
                        size <= fileBytesMax, foundFiles.count < fileCountMax,
                        byteCount < totalBytesMax,
                        let data = fileManager.contents(atPath: absolutePath)
                    else { continue }
                    byteCount += data.count
                    foundFiles.append(
                        SourceSurvey.File(path: path, text: String(decoding: data, as: UTF8.self))
                    )
                // Links are skipped, because they may lead anywhere or form a cycle.
                default: continue
                }
            }
        }
        return foundFiles
    }

    /// The names of files with environment variables that frameworks load at the start of a
    /// backend.
    private static let ownVariableFiles = [".env", ".env.development", ".env.local"]

    /// Returns the environment variables that the owner of a backend has set, in `.env` files and
    /// in the shell.
    ///
    /// - Parameter folders: The folders of the `.env` files. A later folder replaces the values of
    ///   an earlier one, and the shell those of the files.
    /// - Returns: The values by the names of the variables.
    static func ownVariables(in folders: [String]) -> [String: String] {
        var values: [String: String] = [:]
        for folder in folders {
            for name in ownVariableFiles {
                guard let data = FileManager.default.contents(atPath: folder + "/" + name),
                    data.count <= fileBytesMax
                else { continue }
                values.merge(DotEnv.parse(String(decoding: data, as: UTF8.self))) { $1 }
            }
        }
        return values.merging(ProcessInfo.processInfo.environment) { $1 }
    }

    /// Returns a start command whose program is the one in the folder's virtual environment.
    ///
    /// Without a virtual environment, `python3` replaces a `python` that is not installed.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - folder: The folder in which the command runs.
    ///   - project: The path from this folder to the folder of the project; empty for the same one.
    /// - Returns: The command with the path of its program.
    static func command(_ command: String, in folder: String, project: String = "") -> String {
        guard let program = command.split(separator: " ").first, !program.contains("/") else {
            return command
        }
        let ownFolders = project.isEmpty ? [] : ["\(project)/.venv/bin/", "\(project)/venv/bin/"]
        for name in ownFolders + [".venv/bin/", "venv/bin/", "../.venv/bin/"]
        where FileManager.default.isExecutableFile(atPath: folder + "/" + name + program) {
            return name + command
        }
        guard program == "python" else { return command }
        let searchPath = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let hasPython = searchPath.contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/python")
        }
        return hasPython ? command : "python3" + command.dropFirst("python".count)
    }
}
