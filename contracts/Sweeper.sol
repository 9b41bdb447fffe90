// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// What deposit addresses are delegated to (EIP-7702) whose tokens nobody can move by signature. A deposit's token goes to
/// the one hot wallet named at its creation and nowhere else, and only when that wallet asks for it: moved by somebody else
/// it would be in the wallet all the same, and in no merchant's books.
///
/// It answers `collect(address token, address deposit, uint256 amount)` and ERC-1271's `isValidSignature(bytes32,bytes)`,
/// reads their arguments itself, and refuses without a reason: each byte of code that a chain keeps may cost eight times
/// what it costs today (EIP-8037). Once written over, Solidity's words of memory are not used again.
contract Sweeper {
    address private immutable HOT;
    address private immutable SELF;

    /// Above it a signature is the other one of the same two (EIP-2).
    uint256 private constant HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    constructor(address hot) payable {
        HOT = hot;
        SELF = address(this);
    }

    /// Ether is as welcome as it was before: it takes less than the 2,300 gas of a plain payment.
    receive() external payable {}

    /// With words beside it, too.
    fallback() external payable {
        address hot = HOT;
        address self = SELF;
        assembly {
            // With the words of what was called.
            function fail() {
                returndatacopy(0, 0, returndatasize())
                revert(0, returndatasize())
            }
            // balanceOf(address). An address without code answers nothing. Of two arguments the second is evaluated first.
            function balanceOf(token, holder) -> units {
                mstore(0, 0x70a08231)
                mstore(32, holder)
                if iszero(and(gt(returndatasize(), 31), staticcall(gas(), token, 28, 36, 0, 32))) { revert(0, 0) }
                units := mload(0)
            }

            switch shr(224, calldataload(0))
            case 0xc8fea2fb {
                // collect(address,address,uint256)
                let token := calldataload(4)
                let amount := calldataload(68)

                // At a deposit address, by the sweeper that the hot wallet called: transfer(address,uint256).
                if eq(caller(), self) {
                    mstore(0, 0xa9059cbb)
                    mstore(32, hot)
                    mstore(64, amount)
                    if call(gas(), token, 0, 28, 68, 0, 0) { stop() }
                    fail()
                }

                // At the sweeper, by the hot wallet. Whatever the token answered, and whether or not the address is delegated:
                // all of the amount arrives, or nothing is moved.
                if xor(caller(), hot) { revert(0, 0) }
                let before := balanceOf(token, hot)
                calldatacopy(0, 0, 100)
                if iszero(call(gas(), calldataload(36), 0, 0, 100, 0, 0)) { fail() }
                if xor(balanceOf(token, hot), add(before, amount)) { revert(0, 0) }
            }
            case 0x1626ba7e {
                // isValidSignature(bytes32,bytes): what the deposit address's own key signed is good, as it was before. Tokens
                // ask this of addresses with code. Where ecrecover (1) finds no signer the word at 128 stays zero.
                let at := add(calldataload(36), 4)
                mstore(0, calldataload(4))
                mstore(32, byte(0, calldataload(add(at, 96))))
                calldatacopy(64, add(at, 32), 64)
                pop(staticcall(gas(), 1, 0, 128, 128, 32))
                let isGood := and(eq(calldataload(at), 65), iszero(gt(mload(96), HALF_ORDER)))
                mstore(0, shl(224, mul(0x1626ba7e, and(isGood, eq(mload(128), address())))))
                return(0, 32)
            }
        }
    }
}
