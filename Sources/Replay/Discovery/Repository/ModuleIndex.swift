/// Finds the files of a project that its import statements name.
struct ModuleIndex: Sendable {
    private let sources: [SourceText]
    /// The indexes of the files, by the last part of their module path.
    private var filesByName: [String: [Int]] = [:]

    private static let importPatterns: [Pattern] = [
        #"\bimport\s+(?:type\s+)?(?:\*\s+as\s+)?(?<name>\w+)?\s*,?\s*(?:\{(?<names>[^}]*)\})?\s*from\s*["'](?<module>[^"']+)["']"#,
        #"\bexport\s*\{(?<names>[^}]*)\}\s*from\s*["'](?<module>[^"']+)["']"#,
        #"\b(?:const|let|var)\s+(?:(?<name>\w+)|\{(?<names>[^}]*)\})\s*(?::[^=\n]*)?=\s*(?:await\s+)?(?:require|import)\(\s*["'](?<module>[^"']+)["']\s*\)"#,
        #"^\s*from\s+(?<module>[.\w]+)\s+import\s+(?:\((?<names>[^)]*)\)|(?<names>[^\n#(]+))"#,
        #"^\s*import\s+(?<module>\w+(?:\.\w+)+)(?:\s+as\s+(?<name>\w+))?"#,
    ]

    private static let inlineImport: Pattern =
        #"(?:require|import)\(\s*["'`](?<module>[^"'`]+)["'`]"#

    init(_ sources: [SourceText]) {
        self.sources = sources
        for (number, source) in sources.enumerated() {
            for stem in Self.stems(of: source.path) {
                let name = stem.split(separator: "/").last.map(String.init) ?? stem
                filesByName[name, default: []].append(number)
            }
        }
    }

    /// Returns the modules that a file imports, by the name under which it uses them.
    static func imports(of source: SourceText) -> [String: [String]] {
        var modules: [String: [String]] = [:]
        for pattern in importPatterns {
            for match in source.matches(pattern) {
                guard let module = match["module"] else { continue }
                if let name = match["name"] { modules[name, default: []].append(module) }
                // A comment behind a name belongs to no name.
                let names = (match["names"] ?? "").replacing(#/(?:#|\/\/)[^\n]*/#, with: "")
                for entry in names.split(separator: ",") {
                    let words = String(entry).identifiers.filter { $0 != "as" && $0 != "type" }
                    guard let name = words.first, let alias = words.last else { continue }
                    // A name that is imported from a package may be a module of the package.
                    modules[alias, default: []] += ["\(module).\(name)", module]
                }
            }
        }
        return modules
    }

    /// Returns the files that a mounted expression names.
    ///
    /// - Parameters:
    ///   - target: The expression, such as `require('./routes/users')` or `users.router`.
    ///   - imports: The modules by the names under which the file uses them.
    ///   - file: The index of the file that contains the expression.
    /// - Returns: The indexes of the files; the first is the most likely one.
    func files(of target: String, _ imports: [String: [String]], from file: Int) -> [Int] {
        var modules: [String] = []
        for match in SourceText(path: "", text: target).matches(Self.inlineImport) {
            modules += [match["module"]].compactMap(\.self)
        }
        // A dotted name without quotation marks may be the path of a module.
        if !target.contains("("), target.contains(".") { modules.append(target) }
        var found = modules.compactMap { self.file(ofModule: $0, from: file) }
        for name in target.identifiers {
            found += (imports[name] ?? []).lazy.compactMap { self.file(ofModule: $0, from: file) }
                .prefix(1)
        }
        return found.uniqued()
    }

    private func file(ofModule module: String, from file: Int) -> Int? {
        let folder = sources[file].path.split(separator: "/").dropLast().map(String.init)
        var parts: [String]
        var isRelative = false
        if module.contains("/") || module.hasPrefix("./") {
            parts = module.split(separator: "/").map(String.init)
            guard !module.hasPrefix("node:") else { return nil }
            if parts.first == "." || parts.first == ".." {
                isRelative = true
                var base = folder
                while let first = parts.first, first == "." || first == ".." {
                    if first == ".." { _ = base.popLast() }
                    parts.removeFirst()
                }
                parts = base + parts
            } else if ["@", "~", "#"].contains(parts.first ?? "") {
                parts.removeFirst()
            }
        } else {
            parts = module.split(separator: ".").map(String.init)
        }
        guard let last = parts.last else { return nil }
        for suffix in ["", ".js", ".ts", ".mjs", ".cjs", ".jsx", ".tsx"]
        where last.hasSuffix(suffix) {
            var stem = parts
            stem[stem.count - 1] = String(last.dropLast(suffix.count))
            if let found = lookUp(stem.joined(separator: "/"), isRelative: isRelative, folder) {
                return found
            }
        }
        return nil
    }

    private func lookUp(_ path: String, isRelative: Bool, _ folder: [String]) -> Int? {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let matching = (filesByName[name] ?? []).filter { number in
            Self.stems(of: sources[number].path).contains {
                $0 == path || !isRelative && $0.hasSuffix("/" + path)
            }
        }
        // Among files with the same name, the one that shares the most folders is meant.
        return matching.max { first, second in
            sharedFolderCount(first, folder) < sharedFolderCount(second, folder)
        }
    }

    private func sharedFolderCount(_ file: Int, _ folder: [String]) -> Int {
        zip(sources[file].path.split(separator: "/"), folder).prefix { $0 == $1 }.count
    }

    /// Returns the paths under which other files import a file: its path without the extension,
    /// and for the main file of a folder the path of the folder.
    private static func stems(of path: String) -> [String] {
        let parts = path.split(separator: "/").map(String.init)
        guard let name = parts.last else { return [] }
        let stem = name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name
        let folder = parts.dropLast().joined(separator: "/")
        let full = folder.isEmpty ? stem : folder + "/" + stem
        return ["index", "__init__"].contains(stem) && !folder.isEmpty ? [full, folder] : [full]
    }
}
