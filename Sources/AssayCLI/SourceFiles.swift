internal import Foundation
internal import Replay

/// The files of a backend's repository that say something of it, read within bounds.
enum SourceFiles {
    private static let fileCountMax = 2000
    private static let fileBytesMax = 512 << 10
    private static let bytesMax = 20 << 20
    /// What others wrote, what was built, and what is no part of the running backend.
    private static let passedOver: Set<String> = [
        "node_modules", "venv", "env", "vendor", "dist", "build", "target", "__pycache__",
        "coverage",
        "Pods", "test", "tests", "spec", "__tests__", "site-packages", "migrations", "public",
        "static",
    ]

    /// - Parameter folder: The repository.
    /// - Returns: Code, manifests and `.env.example`, by their paths in the folder; nothing where it cannot
    ///   be read.
    static func read(_ folder: String) -> [SourceSurvey.File] {
        let files = FileManager.default
        var found: [SourceSurvey.File] = []
        var byteCount = 0
        var folders = [""]
        while let place = folders.popLast(), found.count < fileCountMax, byteCount < bytesMax {
            let names = (try? files.contentsOfDirectory(atPath: folder + "/" + place)) ?? []
            for name in names.sorted() {
                let path = place.isEmpty ? name : "\(place)/\(name)"
                let whole = folder + "/" + path
                guard let attributes = try? files.attributesOfItem(atPath: whole) else { continue }
                switch attributes[.type] as? FileAttributeType {
                case .typeDirectory:
                    if !name.hasPrefix("."), !passedOver.contains(name) { folders.append(path) }
                case .typeRegular:
                    let size = (attributes[.size] as? NSNumber)?.intValue ?? 0
                    guard SourceSurvey.isSource(path) || SourceSurvey.isManifest(path),
                        size <= fileBytesMax, found.count < fileCountMax, byteCount < bytesMax,
                        let data = files.contents(atPath: whole)
                    else { continue }
                    byteCount += data.count
                    found.append(
                        SourceSurvey.File(path: path, text: String(decoding: data, as: UTF8.self))
                    )
                // A link may lead anywhere, and back.
                default: continue
                }
            }
        }
        return found
    }

    /// The folder's own interpreter in the place of `python`, when there is one.
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
