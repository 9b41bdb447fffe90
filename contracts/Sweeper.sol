// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// What deposit addresses are delegated to (EIP-7702) whose tokens nobody can move by signature. A deposit's token goes to
/// the one hot wallet named at its creation and nowhere else, and only when that wallet asks for it: moved by somebody else
/// it would be in the wallet all the same, and in no merchant's books.
contract Sweeper {
    address private immutable HOT;
    address private immutable SELF;

    /// Of a deposit address that did what it was asked, which no address without this code answers.
    bytes4 private constant SWEPT = 0x7cef5a4f;
    /// ERC-1271.
    bytes4 private constant VALID = 0x1626ba7e;
    /// Above it a signature is the other one of the same two (EIP-2).
    uint256 private constant HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    constructor(address hot) {
        HOT = hot;
        SELF = address(this);
    }

    /// Ether is as welcome as it was before: it takes less than the 2,300 gas of a plain payment.
    receive() external payable {}

    /// With words beside it, too.
    fallback() external payable {}

    /// Called by the hot wallet at this contract itself. Moves all of the amount, or nothing.
    function collect(address token, address deposit, uint256 amount) external {
        require(msg.sender == HOT, "only the hot wallet collects");
        uint256 before = balanceIn(token);
        // Of an address that is not delegated the answer is empty, which reverts.
        require(Sweeper(payable(deposit)).sweep(token, amount) == SWEPT, "not a deposit");
        require(balanceIn(token) == before + amount, "the token kept some of it");
    }

    /// Called by this contract at a deposit address, whose token it sends.
    function sweep(address token, uint256 amount) external returns (bytes4) {
        require(msg.sender == SELF, "only the sweeper sweeps");
        (bool done, bytes memory answer) = token.call(abi.encodeWithSelector(0xa9059cbb, HOT, amount));
        if (!done) {
            assembly {
                revert(add(answer, 32), mload(answer))
            }
        }
        // Some tokens answer nothing.
        require(answer.length == 0 || abi.decode(answer, (bool)), "the token said no");
        return SWEPT;
    }

    /// ERC-1271: what the deposit address's own key signed is good, as it was before. Tokens ask this of addresses with code.
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        uint8 v = uint8(signature[64]);
        if (uint256(s) > HALF_ORDER || (v != 27 && v != 28)) return 0xffffffff;
        return ecrecover(hash, v, r, s) == address(this) ? VALID : bytes4(0xffffffff);
    }

    function balanceIn(address token) private view returns (uint256) {
        return Token(token).balanceOf(HOT);
    }
}

interface Token {
    function balanceOf(address holder) external view returns (uint256);
}
