internal import Foundation
internal import Replay

/// Reads the source and configuration files of a repository, up to limits on their number and size.
enum SourceFiles {
    private static let fileCountMax = 2000
    private static let fileBytesMax = 512 << 10
    private static let totalBytesMax = 20 << 20
    /// The names of skipped folders: dependencies, build output, and files that the running backend
    /// does not use.
    private static let skippedFolders: Set<String> = [
        "node_modules", "venv", "env", "vendor", "dist", "build", "target", "__pycache__",
        "coverage",
        "Pods", "test", "tests", "spec", "__tests__", "site-packages", "migrations", "public",
        "static",
    ]

    /// Reads the files of a repository.
    ///
    /// - Parameter folder: The folder of the repository.
    /// - Returns: The code, the manifests and `.env.example`, with paths relative to the folder;
    ///   without the folders that cannot be read, for which it prints a note.
    static func read(_ folder: String) -> [SourceSurvey.File] {
        let fileManager = FileManager.default
        var foundFiles: [SourceSurvey.File] = []
        var byteCount = 0
        var folders = [""]
        while let relativeFolder = folders.popLast(), foundFiles.count < fileCountMax,
            byteCount < totalBytesMax
        {
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

    /// Returns a start command in which `python` is replaced by the interpreter in the folder's
    /// virtual environment.
    ///
    /// Without one, `python3` replaces a `python` that is not installed.
    static func command(_ command: String, in folder: String) -> String {
        guard command.hasPrefix("python ") else { return command }
        for name in [".venv/bin/python", "venv/bin/python"]
        where FileManager.default.isExecutableFile(atPath: folder + "/" + name) {
            return name + command.dropFirst("python".count)
        }
        let searchPath = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let hasPython = searchPath.contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/python")
        }
        return hasPython ? command : "python3" + command.dropFirst("python".count)
    }
}
