/// The only lines outside a service's own folder that name the service.
extension SellerTable {
    /// The table of all sellers that Assay models.
    package static let all = SellerTable(
        storeSeller: RevenueCatModel.self,
        [PurchaselyModel.self]
    )
}

extension ServiceError {
    /// The errors of all services that a backend calls.
    static let all: [ServiceError] = [.oneSignal, .revenueCat]
}
