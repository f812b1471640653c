internal import Foundation

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A program to start, with its arguments, folder, environment and descriptors.
///
/// The program inherits nothing else from this process.
package struct ProgramCommand: Sendable {
    /// The target or the source of a standard stream of the program.
    package enum Stream: Hashable, Sendable {
        case nothing
        /// A descriptor of this process, which also stays open in this process.
        case descriptor(Int32)
        /// Appends to a file, which is created if it does not exist.
        case appending(path: String)
        /// The target of the program's standard output, for its standard error.
        case sameAsOutput
    }

    /// The path of an executable file.
    package var path: String
    package var arguments: [String]
    /// The working folder of the program; nil for the current folder of this process.
    package var folder: String?
    /// The complete environment of the program; nil for `inheritedEnvironment`.
    package var environment: [String: String]?
    package var input: Stream = .nothing
    package var output: Stream = .nothing
    package var errorOutput: Stream = .nothing
    /// The descriptors that the program inherits: numbers from 3 to 8 in the program, each with a
    /// descriptor of this process.
    package var descriptors: [Int32: Int32] = [:]
    /// Whether the program's process group is killed when this process ends for any reason.
    package var endsWithParent = false

    package init(_ path: String, _ arguments: [String] = []) {
        self.path = path
        self.arguments = arguments
    }

    /// The environment of this process without the variables that configure Assay.
    ///
    /// Such variables contain keys of live services, the token of the control API and the redaction
    /// key.
    package static var inheritedEnvironment: [String: String] {
        withoutAssayVariables(ProcessInfo.processInfo.environment)
    }

    /// Returns an environment without the variables whose names begin with `ASSAY_`.
    package static func withoutAssayVariables(_ environment: [String: String]) -> [String: String] {
        environment.filter { !$0.key.hasPrefix("ASSAY_") }
    }

    /// Returns the path of an executable file.
    ///
    /// - Parameters:
    ///   - name: A path, or a name to look up in the search path.
    ///   - searchPath: The folders to search, separated by colons.
    /// - Returns: The path; nil when no executable file exists.
    package static func findExecutable(_ name: String, searchPath: String) -> String? {
        if name.contains("/") { return isExecutableFile(name) ? name : nil }
        guard !name.isEmpty else { return nil }
        return searchPath.split(separator: ":").lazy.map { "\($0)/\(name)" }.first(
            where: isExecutableFile
        )
    }

    /// Returns whether the path is an executable file and not a folder.
    static func isExecutableFile(_ path: String) -> Bool {
        var fileStatus = stat()
        return access(path, X_OK) == 0 && stat(path, &fileStatus) == 0
            && fileStatus.st_mode & S_IFMT == S_IFREG
    }
}
