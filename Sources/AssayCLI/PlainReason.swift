internal import Foundation

extension Error {
    /// Why something could not be read or written, in the system's own words.
    var plainReason: String {
        let error = self as NSError
        guard let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError,
            cause.domain == NSPOSIXErrorDomain
        else { return error.localizedDescription }
        return String(cString: strerror(Int32(cause.code)))
    }
}
