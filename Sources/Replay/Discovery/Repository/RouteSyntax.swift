/// The forms in which a framework declares routes in source files.
///
/// In the patterns, the group `path` is a path, `method` an HTTP method, `object` the variable on
/// which a route is declared, `parent` the variable from which an object is derived, and `target`
/// the router or module that is mounted.
struct RouteSyntax: Sendable {
    /// A declaration that gives every route in its block a path prefix.
    struct Block: Sendable {
        enum Extent: Sendable {
            /// The lines that are indented more than the first line.
            case indentation
            /// The lines up to the next block of this kind, or up to the end of the file.
            case untilNext
        }

        let pattern: Pattern
        let extent: Extent
    }

    /// A file whose path is the path of a route.
    struct FileRoute: Sendable {
        let path: Pattern
        /// The exported names that are the methods of the route; nil: any method.
        var methods: Pattern?
    }

    /// A prefix of all routes in the files with a certain path.
    struct FilePrefix: Sendable {
        let file: Pattern
        let prefix: String
    }

    /// A part of a file that the file must contain for its routes to be read; empty: no condition.
    var requires: [String] = []
    var declarations: [Pattern] = []
    /// Assignments of a router with a path prefix to a variable.
    var objects: [Pattern] = []
    var blocks: [Block] = []
    var mounts: [Pattern] = []
    var files: [FileRoute] = []
    var filePrefixes: [FilePrefix] = []
    /// Declarations of a prefix for all routes of the project.
    var globalPrefixes: [Pattern] = []
    /// Functions that declare routes on a router that they get as an argument.
    var registrars: [Pattern] = []
}
