internal import Providers

extension StoreAction {
    /// Creates the action of a store that an operation of a history describes.
    ///
    /// - Throws: The reason why the operation is not an action of a store.
    init(_ operation: HistoryOperation) throws(HistoryModel.ImpossibleOperation) {
        guard let kind = Kind(operation.kind) else {
            throw HistoryModel.ImpossibleOperation(
                reason: "'\(operation.kind.rawValue)' is not an operation of a store"
            )
        }
        self.init(kind, user: operation.user)
        from = operation.from
        product = operation.product ?? product
        newProduct = operation.newProduct
        store = operation.store ?? store
        environment = operation.effectiveEnvironment
        period = operation.period ?? period
        reason = operation.reason
        isAtPeriodEnd = operation.isDeferred
        switch operation.kind {
        case .billingIssue: grace = operation.effectDuration
        case .extend, .pause, .temporaryGrant: by = operation.effectDuration
        case .grant: duration = operation.reason
        case .purchase, .renew, .cancel, .uncancel, .resume, .refund, .expire, .transfer, .revoke,
            .recover, .changeProduct, .reverseRefund, .share, .unshare, .irrelevantEvent, .register,
            .signUp,
            .logIn, .wait:
            break
        }
    }
}

extension StoreAction.Kind {
    fileprivate init?(_ kind: HistoryOperation.Kind) {
        switch kind {
        case .purchase: self = .purchase
        case .renew: self = .renew
        case .cancel: self = .cancel
        case .uncancel: self = .uncancel
        case .pause: self = .pause
        case .resume: self = .resume
        case .extend: self = .extend
        case .refund: self = .refund
        case .expire: self = .expire
        case .transfer: self = .transfer
        case .grant: self = .grant
        case .revoke: self = .revoke
        case .billingIssue: self = .billingIssue
        case .recover: self = .recover
        case .changeProduct: self = .changeProduct
        case .reverseRefund: self = .reverseRefund
        case .temporaryGrant: self = .temporaryGrant
        case .share: self = .familyShare
        case .unshare: self = .stopFamilyShare
        case .irrelevantEvent, .register, .signUp, .logIn, .wait: return nil
        }
    }
}
