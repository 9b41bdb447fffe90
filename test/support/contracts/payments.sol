// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A token as USDC is for a listener: transfers, mints, six decimals.
contract TestToken {
    string public symbol = "USDC";
    uint8 public decimals = 6;
    mapping(address => uint256) public balanceOf;
    /// Taken from every transfer, in hundredths of a percent, and told in the event as EIP-20 has it: what arrived.
    uint256 public fee;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(uint256 fee_) {
        fee = fee_;
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) public returns (bool) {
        balanceOf[msg.sender] -= value;
        uint256 taken = (value * fee) / 10000;
        balanceOf[to] += value - taken;
        emit Transfer(msg.sender, to, value - taken);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        emit Approval(msg.sender, spender, value);
        return true;
    }

    /// Several transfers in one transaction, some of them to the same address.
    function mintMany(address[] calldata to, uint256[] calldata values) external {
        for (uint256 i = 0; i < to.length; i++) {
            balanceOf[to[i]] += values[i];
            emit Transfer(address(0), to[i], values[i]);
        }
    }

    /// Says that it transferred, and takes it back.
    function revertAfter(address to, uint256 value) external {
        emit Transfer(msg.sender, to, value);
        revert("no");
    }
}

/// How exchanges pay many withdrawals.
contract BatchPayer {
    function pay(address payable[] calldata to, uint256[] calldata values) external payable {
        for (uint256 i = 0; i < to.length; i++) {
            (bool ok, ) = to[i].call{value: values[i]}("");
            require(ok);
        }
    }

    /// Pays, and then takes everything back.
    function payAndRevert(address payable to) external payable {
        (bool ok, ) = to.call{value: msg.value}("");
        require(ok);
        revert("no");
    }

    /// A payment that fails inside a transaction that succeeds.
    function payInFailingCall(address payable to) external payable {
        try this.payAndRevert{value: msg.value}(to) {} catch {}
    }
}

/// What a payment brings depends on its block, as that of a payment through an exchange does.
contract PriceTaker {
    function pay(address payable to, uint256 lastBlock, uint256 first, uint256 afterwards) external payable {
        (bool ok, ) = to.call{value: block.number <= lastBlock ? first : afterwards}("");
        require(ok);
    }
}

/// A smart contract wallet: whatever it is told to do, it does with its own coin.
contract Wallet {
    receive() external payable {}

    function execute(address to, uint256 value, bytes calldata data) external payable {
        (bool ok, ) = to.call{value: value}(data);
        require(ok);
    }
}

/// Leaves its coin to someone as it ends, in the transaction that creates it (EIP-6780).
contract SelfDestruct {
    constructor(address payable heir) payable {
        selfdestruct(heir);
    }
}

/// Stands before a token, whose code is elsewhere, and lets its issuer freeze addresses or pause it, as USDC's can.
contract IssuersGuard {
    address private immutable token;
    bytes4 private constant TRANSFER = bytes4(keccak256("transfer(address,uint256)"));
    bytes4 private constant RECEIVE = bytes4(
        keccak256("receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)")
    );

    constructor(address token_) {
        token = token_;
    }

    function slotOf(address who) private pure returns (bytes32) {
        return keccak256(abi.encode("frozen", who));
    }

    function isFrozen(address who) private view returns (bool frozen) {
        bytes32 slot = slotOf(who);
        assembly {
            frozen := sload(slot)
        }
    }

    /// The zero address stands for all of them.
    function freeze(address who, bool frozen) external {
        bytes32 slot = slotOf(who);
        assembly {
            sstore(slot, frozen)
        }
    }

    fallback() external {
        if (msg.sig == TRANSFER || msg.sig == RECEIVE) {
            require(!isFrozen(address(0)), "Pausable: paused");
            (address first, uint256 second) = abi.decode(msg.data[4:], (address, uint256));
            bool frozen = isFrozen(msg.sender) || isFrozen(first) || isFrozen(address(uint160(second)));
            require(!frozen, "Blacklistable: account is blacklisted");
        }
        address to = token;
        assembly {
            calldatacopy(0, 0, calldatasize())
            let done := delegatecall(gas(), to, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(done) {
                revert(0, returndatasize())
            }
            return(0, returndatasize())
        }
    }
}

/// Stands before a token as a new implementation behind the issuer's proxy does, and is odd in one way at a time.
contract UpgradedToken {
    address private immutable token;
    bytes32 private constant KIND = keccak256("kind");
    address private constant ISSUER = address(0x155);
    bytes4 private constant TRANSFER = bytes4(keccak256("transfer(address,uint256)"));
    bytes4 private constant RECEIVE = bytes4(
        keccak256("receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)")
    );
    bytes4 private constant BALANCE = bytes4(keccak256("balanceOf(address)"));

    constructor(address token_) {
        token = token_;
    }

    /// 0: as before; 1: a hundredth of each transfer is the issuer's; 2: transfers answer no, and move nothing; 3: everybody
    /// holds half; 4: it says that it has eighteen decimals; 5: it calls itself otherwise.
    function become(uint256 kind) external {
        bytes32 slot = KIND;
        assembly {
            sstore(slot, kind)
        }
    }

    function move(address to, uint256 value) private {
        (bool done, bytes memory answer) = token.delegatecall(abi.encodeWithSelector(TRANSFER, to, value));
        require(done, string(answer));
    }

    fallback() external {
        bytes32 slot = KIND;
        uint256 kind;
        assembly {
            kind := sload(slot)
        }
        bytes4 sig = msg.sig;
        bool isMove = sig == TRANSFER || sig == RECEIVE;
        if (kind == 2 && isMove) answer(0);
        if (kind == 4 && sig == bytes4(keccak256("decimals()"))) answer(18);
        if (kind == 5 && sig == bytes4(keccak256("symbol()"))) {
            bytes memory name = abi.encode("FAKE");
            assembly {
                return(add(name, 32), mload(name))
            }
        }
        if (kind == 1 && sig == TRANSFER) {
            (address to, uint256 value) = abi.decode(msg.data[4:], (address, uint256));
            move(to, value - value / 100);
            move(ISSUER, value / 100);
            answer(1);
        }
        (bool done, bytes memory told) = token.delegatecall(msg.data);
        if (done && kind == 1 && sig == RECEIVE) {
            // Whoever receives by a signature calls for it.
            (,, uint256 value) = abi.decode(msg.data[4:], (address, address, uint256));
            move(ISSUER, value / 100);
        }
        if (done && kind == 3 && sig == BALANCE) answer(abi.decode(told, (uint256)) / 2);
        assembly {
            if iszero(done) {
                revert(add(told, 32), mload(told))
            }
            return(add(told, 32), mload(told))
        }
    }

    function answer(uint256 word) private pure {
        assembly {
            mstore(0, word)
            return(0, 32)
        }
    }
}

/// Pays with no more gas than Solidity's own `transfer` leaves, 2,300.
contract StipendPayer {
    function pay(address payable to) external payable {
        to.transfer(msg.value);
    }
}

/// A token whose transfers answer no, and move nothing.
contract RefusingToken {
    mapping(address => uint256) public balanceOf;

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
    }

    function transfer(address, uint256) external pure returns (bool) {
        return false;
    }
}

/// A token that answers nothing, and calls what moves it, and what that is moved by, for another token while it is moved.
contract CallingToken {
    address private immutable sweeper;
    address private immutable wanted;
    address private immutable holder;
    mapping(address => uint256) public balanceOf;

    constructor(address sweeper_, address wanted_, address holder_) {
        (sweeper, wanted, holder) = (sweeper_, wanted_, holder_);
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
    }

    function transfer(address to, uint256 value) external {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        grab(sweeper, holder);
        grab(sweeper, msg.sender);
        grab(holder, holder);
        grab(msg.sender, msg.sender);
    }

    function grab(address called, address from) private {
        (bool done,) = called.call(abi.encodeWithSignature("collect(address,address,uint256)", wanted, from, 1));
        require(!done, "it was obeyed");
    }
}

/// Asks about a signature as USDC does since version 2.2: an address with code is asked itself (ERC-1271).
contract SignatureAsker {
    function isGood(address who, bytes32 hash, bytes calldata signature) external view returns (bool) {
        if (who.code.length == 0) {
            return ecrecover(hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64])) == who;
        }
        (bool ok, bytes memory answer) =
            who.staticcall(abi.encodeWithSignature("isValidSignature(bytes32,bytes)", hash, signature));
        return ok && answer.length >= 32 && abi.decode(answer, (bytes32)) == bytes32(bytes4(0x1626ba7e));
    }
}
