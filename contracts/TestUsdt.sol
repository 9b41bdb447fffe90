// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The USDT of sandbox chains, which behaves as Tether's on Ethereum does: transfers answer nothing, there are none by
/// signature, and its owner can block addresses, pause it, and take a fee of each transfer. Play money.
contract TestUsdt {
    string public constant name = "Tether USD";
    string public constant symbol = "USDT";
    uint8 public constant decimals = 6;

    address public immutable owner;
    uint256 public totalSupply;
    uint256 public basisPointsRate;
    uint256 public maximumFee;
    bool public paused;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => bool) public isBlackListed;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    modifier onlyOwner() {
        require(msg.sender == owner, "only the owner");
        _;
    }

    /// Every holder begins with `amount`.
    constructor(address[] memory holders, uint256 amount) {
        owner = msg.sender;
        for (uint256 i = 0; i < holders.length; i++) {
            totalSupply += amount;
            balanceOf[holders[i]] += amount;
            emit Transfer(address(0), holders[i], amount);
        }
    }

    function pause(bool stopped) external onlyOwner {
        paused = stopped;
    }

    function blacklist(address who, bool blocked) external onlyOwner {
        isBlackListed[who] = blocked;
    }

    function setParams(uint256 basisPoints, uint256 maximum) external onlyOwner {
        basisPointsRate = basisPoints;
        maximumFee = maximum;
    }

    function transfer(address to, uint256 value) external {
        require(!paused, "paused");
        require(!isBlackListed[msg.sender], "blacklisted");
        _transfer(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external {
        require(!paused, "paused");
        require(!isBlackListed[from], "blacklisted");
        uint256 allowed = allowance[from][msg.sender];
        require(allowed >= value, "more than is allowed");
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - value;
        _transfer(from, to, value);
    }

    /// From one allowance to another only by way of none.
    function approve(address spender, uint256 value) external {
        require(value == 0 || allowance[msg.sender][spender] == 0, "set it to zero first");
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
    }

    function _transfer(address from, address to, uint256 value) private {
        uint256 fee = value * basisPointsRate / 10000;
        if (fee > maximumFee) fee = maximumFee;
        uint256 balance = balanceOf[from];
        require(balance >= value, "more than it holds");
        balanceOf[from] = balance - value;
        balanceOf[to] += value - fee;
        emit Transfer(from, to, value - fee);
        if (fee == 0) return;
        balanceOf[owner] += fee;
        emit Transfer(from, owner, fee);
    }
}
