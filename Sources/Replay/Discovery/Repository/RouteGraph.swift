/// The routes of a project, with the prefixes under which their files and routers are mounted.
struct RouteGraph: Sendable {
    /// A route with its full path.
    struct ResolvedRoute: Sendable {
        let method: String
        let path: String
        let line: Int
        /// The index of the file in `files`.
        let file: Int
        /// Whether the prefix of the route is known; false if it may be mounted anywhere.
        let isResolved: Bool
    }

    let files: [RouteFile]
    private let index: ModuleIndex
    /// The mounts of each file by other files.
    private var mountsByFile: [Int: [Position]] = [:]
    /// The mounts of each function that declares routes.
    private var mountsByRegistrar: [String: [Position]] = [:]
    private let globalPrefixes: [String: String]

    /// A place at which a router is mounted.
    private struct Position: Sendable {
        let file: Int
        let object: String?
        let line: Int
        let path: String
    }

    /// The largest number of mounts inside each other.
    private static let depthMax = 6
    /// The largest number of prefixes of one route.
    private static let prefixCountMax = 8

    init(_ surveyedFiles: [SurveyedFile]) {
        let constants = surveyedFiles.reduce(into: [String: String]()) { constants, file in
            constants.merge(file.pathConstants) { first, _ in first }
        }
        files = surveyedFiles.map { file in
            var routes = file.routes
            routes.resolve(constants)
            return routes
        }
        globalPrefixes = surveyedFiles.reduce(into: [:]) { prefixes, file in
            prefixes.merge(file.globalPrefixes) { $1 }
        }
        index = ModuleIndex(surveyedFiles.map(\.source))
        let registrarNames = Set(files.flatMap { $0.registrars.map(\.name) })
        for (number, file) in files.enumerated() {
            let imports = surveyedFiles[number].imports
            for mount in file.mounts {
                let position = Position(
                    file: number,
                    object: mount.object,
                    line: mount.line,
                    path: mount.path
                )
                let targets = index.files(of: mount.target, imports, from: number)
                let exports = targets.flatMap { target in
                    // A package may only export again what its modules define.
                    index.files(of: mount.target, surveyedFiles[target].imports, from: target)
                }
                for target in (targets + exports).uniqued() where target != number {
                    mountsByFile[target, default: []].append(position)
                }
                for word in mount.target.identifiers where registrarNames.contains(word) {
                    mountsByRegistrar[word, default: []].append(position)
                }
            }
        }
    }

    /// The routes with their full paths; those whose prefix is known come first.
    var routes: [ResolvedRoute] {
        var resolved: [ResolvedRoute] = []
        var open: [ResolvedRoute] = []
        for (number, file) in files.enumerated() {
            for declaration in file.declarations {
                let (prefixes, isResolved) = prefixes(
                    of: number,
                    declaration.object,
                    line: declaration.line
                )
                let global = globalPrefixes[declaration.framework] ?? ""
                for prefix in prefixes {
                    let route = ResolvedRoute(
                        method: declaration.method,
                        path: RoutePath.joined(
                            RoutePath.joined(global, prefix),
                            declaration.path
                        ),
                        line: declaration.line,
                        file: number,
                        isResolved: isResolved
                    )
                    if isResolved { resolved.append(route) } else { open.append(route) }
                }
            }
        }
        return resolved + open
    }

    /// All prefixes that occur in any file, for routes whose own prefix is not known.
    var allPrefixes: [String] {
        files.flatMap { file in
            file.mounts.map(\.path) + file.routers.values.map(\.path)
        }.filter { $0.count > 1 }.uniqued().sorted()
    }

    // MARK: Prefixes

    private func prefixes(
        of file: Int,
        _ object: String?,
        line: Int
    ) -> (prefixes: [String], isResolved: Bool) {
        let mounted = mountedPrefixes(of: file, object, line: line, depth: 0)
        let own = ownPrefix(of: file, object, line: line)
        let isEntry = !own.isEmpty || !files[file].mounts.isEmpty
        guard !mounted.isEmpty else { return ([own], isEntry) }
        return (mounted.map { RoutePath.joined($0, own) }.uniqued(), true)
    }

    /// Returns the prefix that a route has by its file, its blocks and its router.
    private func ownPrefix(of file: Int, _ object: String?, line: Int) -> String {
        var path = ""
        var name = files[file].outermostRouter(at: line, or: object)
        var known: Set<String> = []
        while let current = name, known.insert(current).inserted,
            let router = files[file].routers[current]
        {
            path = RoutePath.joined(router.path, path)
            name = router.parent
        }
        let blocks = RoutePath.joined(files[file].prefix, files[file].blockPrefix(at: line))
        return files[file].blocks.contains { $0.object != nil && $0.lines.contains(line) }
            ? RoutePath.joined(path, blocks) : RoutePath.joined(blocks, path)
    }

    /// Returns the prefixes under which the router of a line is mounted; empty if it is mounted
    /// nowhere.
    private func mountedPrefixes(
        of file: Int,
        _ object: String?,
        line: Int,
        depth: Int
    ) -> [String] {
        guard depth < Self.depthMax else { return [] }
        var positions: [Position] = []
        let root = rootRouter(of: files[file].outermostRouter(at: line, or: object), in: file)
        for mount in files[file].mounts
        where mount.object != root && root != nil && mount.target.identifiers.first == root {
            positions.append(
                Position(file: file, object: mount.object, line: mount.line, path: mount.path)
            )
        }
        if positions.isEmpty {
            let names = files[file].registrars.filter { $0.lines.contains(line) }.map(\.name)
            positions = names.flatMap { mountsByRegistrar[$0] ?? [] }
                .filter { $0.file != file || $0.line != line }
        }
        if positions.isEmpty { positions = mountsByFile[file] ?? [] }
        return positions.prefix(Self.prefixCountMax).flatMap { position -> [String] in
            let outer = mountedPrefixes(
                of: position.file,
                position.object,
                line: position.line,
                depth: depth + 1
            )
            let own = ownPrefix(of: position.file, position.object, line: position.line)
            return (outer.isEmpty ? [""] : outer).map {
                RoutePath.joined(RoutePath.joined($0, own), position.path)
            }
        }.uniqued()
    }

    private func rootRouter(of object: String?, in file: Int) -> String? {
        var name = object
        var known: Set<String> = []
        while let current = name, known.insert(current).inserted,
            let parent = files[file].routers[current]?.parent
        {
            name = parent
        }
        return name
    }
}

extension String {
    /// The words of code in the string that may be names of variables or functions.
    var identifiers: [String] {
        split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "$") }.map(String.init)
            .filter { $0.first?.isNumber == false }
    }
}
